"""The commands, one module each: its flags, the Python verb that it calls, and what it prints.

Heavy imports wait inside the functions: `phasescope --help` loads all of these modules.
"""
