"""The equations in the docstrings: a small part of LaTeX, read into Unicode text or into sympy.

One parser serves both, so what a terminal shows, what the documentation typesets and what the tests compare with the
code are the same equation. The part that is read: numbers, symbols with indices, ``\\frac``, powers, ``\\sqrt``,
``\\sum``, factorials, ``\\max``, ``\\min``, ``\\ln``, ``\\log_2``, floor and ceiling brackets; juxtaposition
multiplies.
"""

from __future__ import annotations

import re
from typing import Any

Node = tuple[Any, ...]
"""``(kind, ...)``: a number, a symbol, or an operation on further nodes."""

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\,|\d+(?:\.\d+)?|[A-Za-z]+|[-+*/^_(){}=,!]")
_GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "epsilon": "ε",
    "eta": "η",
    "lambda": "λ",
    "mu": "μ",
    "rho": "ρ",
    "tau": "τ",
}
_FUNCTIONS = {"max", "min", "ln", "exp"}
_SKIPPED = {"\\left", "\\right", "\\,"}
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def parse_equation(text: str) -> tuple[Node, Node]:
    """Read ``left = right``.

    >>> parse_equation(r"I = \\frac{C}{BW}")
    (('symbol', 'I'), ('/', ('symbol', 'C'), ('symbol', 'BW')))
    """
    parser = _Parser([token for token in _TOKEN.findall(text) if token not in _SKIPPED])
    left = parser.sum()
    parser.expect("=")
    right = parser.sum()
    if parser.tokens:
        raise ValueError(f"cannot read the equation {text!r} beyond {parser.tokens[0]!r}")
    return left, right


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self) -> str:
        return self.tokens.pop(0)

    def expect(self, token: str) -> None:
        if self.peek() != token:
            raise ValueError(f"expected {token!r}, found {self.peek()!r}")
        self.take()

    def sum(self) -> Node:
        node = self.product()
        while self.peek() in ("+", "-") and self.tokens:
            node = (self.take(), node, self.product())
        return node

    def product(self) -> Node:
        if self.peek() == "-":
            self.take()
            return ("neg", self.product())
        node = self.power()
        while self.tokens:
            if self.peek() == "\\cdot":
                self.take()
                node = ("*", node, self.power())
            elif self.peek() == "/":
                self.take()
                node = ("/", node, self.power())
            elif self.starts_factor():
                node = ("*", node, self.power())
            else:
                break
        return node

    def starts_factor(self) -> bool:
        token = self.peek()
        return token == "(" or token[0].isalnum() or (token[0] == "\\" and token not in ("\\rceil", "\\rfloor"))

    def power(self) -> Node:
        node = self.atom()
        while self.peek() in ("^", "!") and self.tokens:
            if self.take() == "!":
                node = ("!", node)
            elif self.peek() == "{" and self.tokens[1] == "*":
                del self.tokens[:3]
                node = ("symbol", f"{node[1]}*")
            else:
                node = ("^", node, self.group())
        return node

    def group(self) -> Node:
        """A braced expression, or a single token where LaTeX allows it."""
        if self.peek() != "{":
            return self.atom()
        self.take()
        node = self.sum()
        self.expect("}")
        return node

    def bracketed(self, closing: str) -> tuple[Node, ...]:
        items = [self.sum()]
        while self.peek() == ",":
            self.take()
            items.append(self.sum())
        self.expect(closing)
        return tuple(items)

    def atom(self) -> Node:
        token = self.take()
        if token[0].isdigit():
            return ("number", token)
        if token == "(":
            return self.bracketed(")")[0]
        if token == "\\frac":
            return ("/", self.group(), self.group())
        if token == "\\sqrt":
            return ("sqrt", self.group())
        if token in ("\\lceil", "\\lfloor"):
            return (token[1:], self.bracketed(token.replace("l", "r", 1))[0])
        if token == "\\sum":
            return self.series()
        name = token.lstrip("\\")
        if name == "log":
            self.expect("_")
            self.expect("2")
            return ("log2", self.power())
        if name in _FUNCTIONS and token[0] == "\\":
            return (name, *self.arguments())
        if token[0].isalpha() or name in _GREEK:
            return ("symbol", name + self.index())
        raise ValueError(f"unexpected {token!r}")

    def arguments(self) -> tuple[Node, ...]:
        if self.peek() == "(":
            self.take()
            return self.bracketed(")")
        return (self.power(),)

    def index(self) -> str:
        """What follows an underscore, as part of the symbol's name."""
        if self.peek() != "_":
            return ""
        self.take()
        if self.peek() != "{":
            return f"_{self.take()}"
        self.take()
        parts = []
        while self.peek() != "}":
            parts.append(self.take())
        self.take()
        return "_" + "".join(parts)

    def series(self) -> Node:
        """``\\sum_{k=0}^{c} body``; the body reaches to the end of the product."""
        self.expect("_")
        self.expect("{")
        variable = self.take()
        self.expect("=")
        first = self.sum()
        self.expect("}")
        self.expect("^")
        last = self.group()
        return ("sum", variable, first, last, self.product())


def to_sympy(node: Node, symbols: dict[str, Any]) -> Any:
    """Turn a parsed expression into sympy, symbols by their names in the equation."""
    import sympy

    kind, *rest = node
    if kind == "number":
        return sympy.Rational(rest[0]) if "." in rest[0] else sympy.Integer(rest[0])
    if kind == "symbol":
        if rest[0] == "e" and "e" not in symbols:
            return sympy.E
        return symbols[rest[0]]
    if kind == "sum":
        variable = sympy.Symbol(rest[0])
        body = to_sympy(rest[3], {**symbols, rest[0]: variable})
        first, last = (to_sympy(bound, symbols) for bound in rest[1:3])
        series = sympy.Sum(body, (variable, first, last))
        return series.doit() if last.is_Integer else series
    values = [to_sympy(part, symbols) for part in rest]
    operations = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "^": lambda a, b: a**b,
        "neg": lambda a: -a,
        "!": sympy.factorial,
        "sqrt": sympy.sqrt,
        "lceil": sympy.ceiling,
        "lfloor": sympy.floor,
        "log2": lambda a: sympy.log(a, 2),
        "ln": sympy.log,
        "exp": sympy.exp,
        "max": sympy.Max,
        "min": sympy.Min,
    }
    return operations[kind](*values)


_RANK = {"+": 1, "-": 1, "neg": 1, "*": 2, "/": 2, "sum": 2, "^": 3, "!": 3}


def to_unicode(node: Node, values: dict[str, str] | None = None) -> str:
    """Write a parsed expression as a line of text, with numbers in the place of symbols if given.

    >>> to_unicode(parse_equation(r"I = \\frac{C}{2 BW_{mem}^{2}}")[1])
    'C / (2·BW_mem²)'
    """
    kind, *rest = node
    if kind == "number":
        return str(rest[0])
    if kind == "symbol":
        return (values or {}).get(rest[0]) or pretty_symbol(rest[0])
    if kind == "sum":
        bounds = f"{rest[0]}={to_unicode(rest[1], values)}..{to_unicode(rest[2], values)}"
        return f"Σ({bounds}) {_inner(rest[3], 2, values)}"
    if kind == "^":
        return _power(rest[0], rest[1], values)
    if kind in ("+", "-"):
        right = _inner(rest[1], 1 if kind == "+" else 2, values)
        return f"{_inner(rest[0], 1, values)} {'−' if kind == '-' else '+'} {right}"
    if kind == "*":
        return "·".join(_inner(part, 3 if part[0] == "/" else 2, values) for part in rest)
    if kind == "/":
        over = _inner(rest[0], 3 if rest[0][0] == "/" else 2, values)
        return f"{over} / {_inner(rest[1], 3, values)}"
    if kind == "neg":
        return f"−{_inner(rest[0], 2, values)}"
    if kind == "!":
        return f"{_inner(rest[0], 4, values)}!"
    if kind in ("lceil", "lfloor"):
        left, right = ("⌈", "⌉") if kind == "lceil" else ("⌊", "⌋")
        return f"{left}{to_unicode(rest[0], values)}{right}"
    name = {"log2": "log₂", "sqrt": "√"}.get(kind, kind)
    return f"{name}({', '.join(to_unicode(part, values) for part in rest)})"


def _inner(node: Node, rank: int, values: dict[str, str] | None) -> str:
    """Write a part, in parentheses if it binds less tightly than what stands around it."""
    text = to_unicode(node, values)
    return f"({text})" if _RANK.get(node[0], 9) < rank else text


def _power(base: Node, exponent: Node, values: dict[str, str] | None) -> str:
    text = to_unicode(exponent, values)
    written = _inner(base, 4, values)
    if text.isdigit():
        return written + text.translate(_SUPERSCRIPT)
    return f"{written}^{text}" if exponent[0] in ("symbol", "number") else f"{written}^({text})"


def pretty_symbol(name: str) -> str:
    """Write a symbol with Greek letters: ``alpha_w`` as ``α_w``."""
    head, mark, index = name.partition("_")
    return _GREEK.get(head, head) + mark + index
