"""The model of the theorems: trained block by block, over every chain or reduced exactly to a few numbers."""
