# SPDX-License-Identifier: Apache-2.0
"""Small random edits of C++: which tokens of a file can be changed, and into what.

Comments, strings, lines of the preprocessor, headers of rooms and what stands outside of functions are left alone, but for
numbers. clang-format puts spaces around binary operators alone, which tells them from templates and references.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ ]*\#(?:[^\n\\]|\\.)*)
      |(?P<text>(?:u8|[LuU])?(?:R"(?P<mark>[^(]*)\(.*?\)(?P=mark)"|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
      |(?P<number>(?:0[xXbB][0-9a-fA-F']+|\d[\d']*(?:\.[\d']*)?(?:[eE][+-]?\d+)?)[uUlLfFzZ]*)
      |(?P<word>[A-Za-z_]\w*)
      |(?P<operator><=>|<<=|>>=|->|::|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
BETWEEN_SPACES = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*", "%": "/",
    "&&": "||", "||": "&&", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=",
    "|=": "&=", "&=": "|=", "^=": "|=",
}  # fmt: skip
ANYWHERE = {"++": "--", "true": "false", "false": "true", "min": "max", "max": "min", "!": ""}
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "static_assert", "catch", "decltype", "alignof", "constexpr"}
DECLARATION = re.compile(r"[\w:]+(<.*>)?[&*]* \w")
NO_STATEMENT = {"return", "using", "const", "constexpr", "auto", "static", "case", "default", "else", "if", "for", "while", "do",
                "switch", "namespace", "struct", "class", "enum", "template", "static_assert", "goto", "typedef"}  # fmt: skip


class Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Edit(NamedTuple):
    file: str
    start: int
    old: str
    new: str

    def of(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    def line(self, text: str) -> int:
        return text.count("\n", 0, self.start) + 1

    def line_after(self, text: str) -> str:
        """The whole line as it is after the edit, from its first word on: what an edit is known by."""
        after = self.of(text)
        begin = after.rfind("\n", 0, self.start) + 1
        end = after.find("\n", self.start + len(self.new))
        return " ".join(after[begin : end if end >= 0 else len(after)].split())


def tokens_of(text: str) -> list[Token]:
    kinds = ("text", "number", "word", "operator")
    return [
        Token(next(kind for kind in kinds if match[kind] is not None), match[0], match.start())
        for match in TOKEN.finditer(text)
        if match["skip"] is None
    ]


def closing(tokens: list[Token], opening: int) -> int:
    """The place of the bracket that ends what begins at a round one."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].text in "([{") - (tokens[place].text in ")]}")
        if depth == 0:
            return place
    return opening


def in_functions(tokens: list[Token]) -> list[bool]:
    """Of each token, whether it stands in braces that are no namespace's and no type's."""
    kinds: list[bool] = []
    begin = 0  # of what stands before a brace
    inside = []
    for place, token in enumerate(tokens):
        inside.append(any(kinds))
        if token.text == "{":
            words = [each.text for each in tokens[begin:place]]
            outer = "(" not in words and bool({"namespace", "struct", "class", "union", "enum"} & set(words))
            kinds.append(not outer)
        elif token.text == "}" and kinds:
            kinds.pop()
        if token.text in ("{", "}", ";"):
            begin = place + 1
    return inside


def edits_of_token(text: str, token: Token) -> Iterator[str]:
    if token.kind == "number":
        digits = re.match(r"0[xXbB]|[\d']+(?![\d'.eE])", token.text)
        if digits and token.text[:2].lower() not in ("0x", "0b"):
            value = int(digits[0].replace("'", ""))
            yield from (f"{each}{token.text[digits.end():]}" for each in (value + 1, value - 1) if each >= 0)
        else:
            yield f"({token.text} + 1)"
    elif token.text in BETWEEN_SPACES and text[token.start - 1] == " " and text[token.end] in " \n":
        yield BETWEEN_SPACES[token.text]
    elif token.text in ANYWHERE:
        yield ANYWHERE[token.text]


def negated(text: str, tokens: list[Token], place: int) -> tuple[int, str, str] | None:
    """The condition of an if, behind its initialisation."""
    if tokens[place].text != "if" or tokens[place + 1].text != "(":
        return None
    end = closing(tokens, place + 1)
    begin = max([k for k in range(place + 1, end) if tokens[k].text == ";"], default=place + 1) + 1
    condition = text[tokens[begin].start : tokens[end].start]
    return tokens[begin].start, condition, f"!({condition})"


def swapped(text: str, tokens: list[Token], place: int) -> tuple[int, str, str] | None:
    """The first two arguments of a call."""
    if tokens[place].kind != "word" or tokens[place].text in KEYWORDS or tokens[place + 1].text != "(":
        return None
    end = closing(tokens, place + 1)
    depth, commas = 0, []
    for k in range(place + 1, end):
        depth += (tokens[k].text in "([{") - (tokens[k].text in ")]}")
        if depth == 1 and tokens[k].text == ",":
            commas.append(k)
    if not commas:
        return None
    second = commas[1] if len(commas) > 1 else end
    first = text[tokens[place + 2].start : tokens[commas[0] - 1].end]
    other = text[tokens[commas[0] + 1].start : tokens[second - 1].end]
    old = text[tokens[place + 2].start : tokens[second - 1].end]
    same = first == other or '"' in first[:1] + other[:1]  # a text in another's place does not compile
    return None if same else (tokens[place + 2].start, old, f"{other}, {first}")


def removed(text: str, tokens: list[Token], place: int) -> tuple[int, str, str] | None:
    """A statement that declares nothing."""
    if tokens[place - 1].text not in (";", "{", "}", ")") or tokens[place].kind == "number":
        return None
    first, second = tokens[place].text, tokens[place + 1].text
    changes = tokens[place].kind == "word" and second in ("(", ".", "->", "=", "+=", "-=", "|=", "^=", "[", "::", "++")
    if first not in ("++", "--", "throw", "break", "continue") and (first in NO_STATEMENT or not changes):
        return None
    depth = 0
    for k in range(place, len(tokens)):
        depth += (tokens[k].text in "([{") - (tokens[k].text in ")]}")
        if depth < 0:
            return None
        if depth == 0 and tokens[k].text == ";":
            statement = text[tokens[place].start : tokens[k].end]
            declares = first != "throw" and DECLARATION.match(statement)
            return None if declares else (tokens[place].start, statement, "{}")
    return None


def edits_of(file: str, text: str) -> list[Edit]:
    tokens = tokens_of(text)
    inside = in_functions(tokens)
    found = []
    for place in range(1, len(tokens) - 2):
        token = tokens[place]
        if inside[place] or token.kind == "number":
            found += [Edit(file, token.start, token.text, new) for new in edits_of_token(text, token)]
        if inside[place]:
            larger = [rule(text, tokens, place) for rule in (negated, swapped, removed)]
            found += [Edit(file, *each) for each in larger if each]
    return found


def draw(root: Path, room: str, seed: str) -> Edit:
    """One edit of the bodies and private headers of a room."""
    choice = random.Random(seed)
    edits: list[Edit] = []
    for path in sorted((root / "src" / room).rglob("*.[ch]pp")):
        edits += edits_of(path.relative_to(root).as_posix(), path.read_text())
    return choice.choice(edits)
