"""`python -m phasescope` is the command `phasescope`."""

from .cli import main

if __name__ == "__main__":
    main()
