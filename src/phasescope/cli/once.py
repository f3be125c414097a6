"""Options are given once: of two values for one option the first would be dropped without a word."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

from ..errors import SpecError


class Once(TyperCommand):
    """A command that refuses an option with two values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed; a value that is given twice is an error that names the option."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        seen = set()
        for param in order:
            if not isinstance(param, TyperOption) or param.is_flag or param.multiple:
                continue
            if param.name in seen:
                raise SpecError(f"{param.opts[0]} is given twice; give it once.")
            seen.add(param.name)
        return super().parse_args(ctx, args)
