"""`python -m sureflow` is the `sureflow` command."""

from sureflow.cli import main

if __name__ == "__main__":
    main()
