"""The command line, one file a command, in the order of the work."""


def main() -> None:
    """The program `flowgauge`."""
    from flowgauge.cli.root import run

    run()
