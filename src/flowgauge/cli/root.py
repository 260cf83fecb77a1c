"""The program: its commands as a table, its errors as one line and an exit code.

A command's module is imported when the command is called, so that `--help` and
`--version` stay near the interpreter's own start.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from flowgauge._version import __version__

INTERRUPTED = 130
FAULT = 3

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Put a first workflow into FOLDER (default: here)."),
    "demo": ("demo", "Show the main job, offline, in a few seconds."),
    "doctor": ("doctor", "What is installed, which keys are set, is the store well."),
    "validate": ("validate", "Check workflow FILES and list every mistake."),
    "schema": ("schema", "Print the JSON Schema of a file format."),
    "run": ("run", "Run a workflow and show every node's time, tokens and cost."),
    "bench": ("bench", "Run a target in every configuration and report on all of them."),
    "report": ("report", "Report on a stored bench, in any format."),
    "benchmark": ("benchmark", "Stored benchmarks: list, show, export, rm."),
    "trial": ("trial", "Trials of a bench: list, show."),
    "compare": ("compare", "Hold one stored benchmark against another: pass rates, latency, cost, tokens, scores, nodes."),
    "gate": ("gate", "Decide whether CANDIDATE may ship, held against a baseline."),
    "baseline": ("baseline", "Baselines: set, list, show, rm."),
    "trend": ("trend", "Show a metric over all benchmarks of SUBJECT, and where it changed."),
    "plan": ("plan", "Tell how many runs a comparison needs to see an effect."),
    "calibrate": ("calibrate", "Tell how good the gate itself is: its false alarms and its power, on measured samples."),
    "ingest": ("ingest", "Store results of pytest-benchmark, hyperfine or a JSON file of metrics as benchmarks."),
    "perf": ("perf", "Run a scenario's episodes in worker processes and judge what they did."),
    "record": ("record", "Run an episode twice and seal it in a bundle if both runs agree."),
    "replay": ("replay", "Verify a bundle, run it again without the network, and hold it to what was recorded."),
    "diff": ("diff", "Show what differs between two runs: steps, how they ended, budget, I/O."),
    "registry": ("registry", "Adapters that measure a system: list, run, install, remove."),
    "snapshot": ("snapshot", "Snapshots of a version's metrics: capture, list, show, compare."),
    "upgrade-check": ("upgrade_check", "Tell whether version NEW may take the place of OLD, by their snapshots."),
    "review": ("review", "Review a change: its size, lint, tests and baselines; approve, reject, or flag it for a steward."),
    "agent": ("agent", "Baselines of agents: capture, validate, compare, trend, list, show, remove."),
    "daemon": ("daemon", "Validate every known agent again and again, and keep evidence of regressions."),
    "workflow": ("workflow", "Stored workflows and their versions."),
    "template": ("template", "Workflows that come with Flowgauge: list, show, add."),
    "example": ("example", "Stored inputs for a workflow."),
    "play": ("play", "Plays: list, show, cancel, resume."),
    "serve": ("serve", "Serve all operations over HTTP: JSON-RPC at /rpc, events at /events."),
    "token": ("token", "Tokens for callers of a server: create, list, revoke."),
    "schedule": ("schedule", "Benchmarks on a schedule, with their gates: add, list, show, rm, enable, disable, run."),
    "mcp": ("mcp", "Serve all operations as MCP tools over stdin and stdout, for agents."),
    "models": ("models", "List models with a known price, in USD per million tokens."),
    "mock-server": ("mock_server", "Serve the mock provider on loopback, as OpenAI and as Anthropic."),
    "store": ("store", "The database: info, backup, prune, vacuum, export, import."),
    "completion": ("completion", "Print a completion script for SHELL."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and first lines without importing them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """In the order of the table."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import it now."""
        row = COMMANDS.get(name)
        if row is None:
            return None
        command: click.Command = importlib.import_module(f"flowgauge.cli.{row[0]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """As usual, with a guess at what was meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else " `flowgauge --help` lists them."
            ctx.fail(f"There is no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table's own words."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "FLOWGAUGE", "max_content_width": 110}
)
@click.version_option(__version__, prog_name="flowgauge", allow_from_autoenv=False)
def cli() -> None:
    """Measure AI workflows, compare versions, and decide with the measurements.

    \b
    First steps:  flowgauge demo
                  flowgauge init && flowgauge run ticket-triage.yaml -i ticket="Where is my parcel?"
    """


def run(arguments: list[str] | None = None) -> NoReturn:
    """Call a command; whatever goes wrong is one message on stderr and an exit code."""
    from flowgauge.errors import FlowgaugeError

    try:
        code = cli.main(arguments, prog_name="flowgauge", standalone_mode=False)
    except FlowgaugeError as error:
        _exit(str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _exit("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("FLOWGAUGE_DEBUG"):
            raise
        _exit(f"Flowgauge itself failed: {type(error).__name__}: {error}. FLOWGAUGE_DEBUG=1 shows where.", FAULT)
    sys.exit(code if isinstance(code, int) else 0)


def _exit(message: str, code: int) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(code)
