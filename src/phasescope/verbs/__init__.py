"""What a user does: run, sweep, check, draw. The public functions of these names live here."""
