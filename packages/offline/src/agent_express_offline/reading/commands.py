"""Commands: what a message asks for, one after the other.

A sentence is cut where a new command begins: at its end, and after a comma, "and" or "then" in front of a verb or a
question word. What stands in quotes, in paths or in numbers is never cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from .joining import join
from .literals import LITERALS
from .tokens import Token, scan
from .vocabulary import (
    CONDITIONS,
    FILLERS,
    GREETINGS,
    HELP,
    INDIRECT,
    NEGATIONS,
    QUESTIONS,
    REQUESTS,
    SEQUENCE,
    STOP_WORDS,
    VERBS,
)
from .words import shorten

MAX_COMMANDS: Final = 32
MAX_TOKENS: Final = 4000

Manner: TypeAlias = Literal["order", "greeting", "help", "negated", "conditional", "statement"]


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the user wants.

    Attributes:
        text: The words as written, at most 120 characters: to say which command is meant.
        tokens: What it is made of, from its verb on; no signs at its ends.
        manner: "order" for what is to be done; "negated" and "conditional" are understood and left alone; "statement"
            tells what somebody does or did ("I deleted a.txt").
        after: Whether it says that it comes after the ones before it ("then").
        asks: Whether it is a question, so that nothing may be changed because of it ("how do I delete a.txt?").
    """

    text: str
    tokens: tuple[Token, ...]
    manner: Manner = "order"
    after: bool = False
    asks: bool = False

    @property
    def words(self) -> list[str]:
        """Its words, folded; nothing for values."""
        return [token.lower for token in self.tokens if token.kind == "word"]


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a message, and whether the message went on past what is read."""

    items: tuple[Command, ...]
    cut: bool = False


def parse(text: str, verbs: Collection[str] = ()) -> Commands:
    """Read *text* as commands; *verbs* are words beyond the known ones that begin a command.

    At most 4,000 tokens and 32 commands are read.
    """
    scanned = scan(text, MAX_TOKENS + 1)
    block = _block(scanned)
    cut = block is None and len(scanned) > MAX_TOKENS
    tokens = join(
        scanned[:MAX_TOKENS] if block is None else [*scanned[: block - 1], _quoted(text, scanned[block].start)]
    )
    starts = VERBS | frozenset(verbs)
    commands: list[Command] = []
    for sentence in _sentences(tokens, starts):
        for clause in _clauses(sentence, starts):
            if command := _command(text, clause, starts):
                commands.append(command)
    return Commands(tuple(commands[:MAX_COMMANDS]), cut or len(commands) > MAX_COMMANDS)


# --- texts that are handed over -------------------------------------------------------------------


def _block(tokens: list[Token]) -> int | None:
    """Where a text begins that the message hands over: below a line that ends with a colon, "Explain this:".

    What stands there is no command, whatever it says. Below "do this:" and the like, and where a list begins, it is.
    """
    begin = 0
    for place, token in enumerate(tokens[:-2]):
        if token.kind == "break" or (token.kind == "mark" and token.text in _ENDS):
            begin = place + 1
        elif token.text == ":" and token.kind == "mark" and tokens[place + 1].kind == "break":
            heading = [each.lower for each in tokens[begin:place] if each.kind == "word"]
            listed = any(word in _HEADINGS for word in heading) or all(word in STOP_WORDS for word in heading)
            if not listed and not _begins_list(tokens[place + 2 : place + 4]):
                return place + 2
    return None


def _quoted(text: str, start: int) -> Token:
    handed = text[start:].rstrip()
    return Token("quoted", handed, handed, start, len(text))


def _begins_list(tokens: list[Token]) -> bool:
    if tokens[0].text in _BULLETS:
        return True
    return tokens[0].kind == "number" and len(tokens) > 1 and tokens[1].text in (".", ")")


# --- sentences ------------------------------------------------------------------------------------


def _sentences(tokens: list[Token], starts: Collection[str]) -> Iterator[list[Token]]:
    sentence: list[Token] = []
    for position, token in enumerate(tokens):
        if _is_numbering(token, sentence):
            sentence = []
        elif token.kind == "mark" and token.text in _ENDS:
            yield sentence
            sentence = []
        elif token.kind != "break":
            sentence.append(token)
        elif _opens_line(token, sentence, tokens[position + 1 : position + 4], starts):
            yield sentence
            sentence = []
    yield sentence


_ENDS: Final = frozenset(".!?;…")
_BULLETS: Final = frozenset(["-", "*", "•", "\N{EN DASH}", "+"])


def _is_numbering(token: Token, sentence: list[Token]) -> bool:
    """Whether *token* ends the "1." or "1)" in front of a numbered line."""
    return token.kind == "mark" and token.text in ".)" and len(sentence) == 1 and sentence[0].kind == "number"


def _opens_line(token: Token, sentence: list[Token], following: list[Token], starts: Collection[str]) -> bool:
    """Whether a line break ends the sentence: an empty line, a bullet, a number, or a verb comes next."""
    if token.text == "\n\n" or not following or not sentence:
        return True
    if _begins_list(following):
        return True
    if sentence[-1].kind == "mark" and sentence[-1].text in ",:":
        return sentence[-1].text == ":"
    words = [each.lower for each in following if each.lower not in FILLERS]
    return bool(words) and (words[0] in starts or words[0] in QUESTIONS)


# --- clauses --------------------------------------------------------------------------------------


def _clauses(sentence: list[Token], starts: Collection[str]) -> Iterator[list[Token]]:
    """Cut a sentence where a verb or a question word follows a joint. One with a condition stays whole."""
    if _is_conditional(sentence):
        yield sentence
        return
    begin = place = 0
    while place < len(sentence):
        joint = _joint(sentence, place)
        end = place + joint
        if joint and place > begin and _opens(sentence[begin:place], sentence[place:end], sentence[end:], starts):
            yield sentence[begin:place]
            begin = place
        place = max(end, place + 1)
    yield sentence[begin:]


def _is_conditional(tokens: list[Token]) -> bool:
    """Whether something is to be done under a condition; "tell me if" and "check if" only ask."""
    return any(
        token.lower in CONDITIONS and (position == 0 or tokens[position - 1].lower not in INDIRECT)
        for position, token in enumerate(tokens)
    )


def _joint(sentence: list[Token], at: int) -> int:
    """How many tokens at *at* join two clauses: a comma, "and", "then", fillers between them; 0 for none."""
    end = at
    while end < len(sentence) and (
        (sentence[end].lower or sentence[end].text) in _JOINTS or (end > at and sentence[end].lower in FILLERS)
    ):
        end += 1
    return end - at


_JOINTS: Final = frozenset([",", ":", "&", "and", "then", "but", "also", "afterwards"])


def _opens(before: list[Token], joint: list[Token], after: list[Token], starts: Collection[str]) -> bool:
    """Whether a command begins after *joint*: with a verb, with a question, or with anything after "then".

    A colon begins a command after "do this:" and a text that goes on after all else, as in "new task: call Ann".
    """
    if not after:
        return False
    word = after[0].lower
    if any(token.lower == "then" for token in joint):
        return True
    if any(token.text == ":" for token in before):
        return False
    if any(token.text == ":" for token in joint):
        return word in starts and all(token.lower in STOP_WORDS | _HEADINGS for token in before)
    if word in NEGATIONS:
        return len(after) > 1 and (after[1].lower in starts or word == "don't")
    if word in QUESTIONS:
        return word not in _COPULAS or joint[0].text == ","
    return word in starts


_COPULAS: Final = frozenset(["is", "are", "does", "do", "did", "was", "were"])
_HEADINGS: Final = frozenset(["steps", "tasks", "todo", "commands", "work", "following"])


# --- one command ----------------------------------------------------------------------------------


def _command(text: str, clause: list[Token], starts: Collection[str]) -> Command | None:
    tokens = _trim(clause)
    if not tokens:
        return None
    manner = _chat(tokens) or ("conditional" if _is_conditional(tokens) else None)
    if manner:
        return Command(_written(text, tokens), tuple(tokens), manner)
    opening = _opening(tokens, starts)
    body = _trim(tokens[opening:])
    if not body:
        return None
    lead = [token.lower for token in tokens[:opening]]
    if body[0].lower in NEGATIONS or any(word in NEGATIONS for word in lead):
        return Command(_written(text, tokens), tuple(body), "negated")
    after = any(word in SEQUENCE or word == "after" for word in lead)
    asks = body[0].lower in QUESTIONS or _wonders(tokens)
    manner = "statement" if lead[-1:] and lead[-1] in _SUBJECTS and REQUESTS.isdisjoint(lead) else "order"
    return Command(_written(text, body), tuple(body), manner, after, asks)


_SUBJECTS: Final = frozenset(["i", "we", "you", "they", "he", "she"])
_MODALS: Final = frozenset(["can", "could", "may", "might", "should", "shall", "will", "would", "has", "have", "had"])


def _wonders(tokens: list[Token]) -> bool:
    """Whether this asks if something can or should be: "can I ...?", "would deleting it ...?"; not "can you ...?"."""
    return len(tokens) > 1 and tokens[0].lower in _MODALS and tokens[1].lower not in ("you", "please", "kindly")


def _written(text: str, tokens: list[Token]) -> str:
    return shorten(text[tokens[0].start : tokens[-1].end], 120)


def _trim(tokens: list[Token]) -> list[Token]:
    """Drop signs, bullets and joints at both ends, and the number of a numbered line."""
    begin, end = 0, len(tokens)
    while begin < end and (tokens[begin].kind in ("mark", "break") or tokens[begin].text in _BULLETS):
        begin += 1
    while end > begin and (tokens[end - 1].kind in ("mark", "break") or tokens[end - 1].lower in ("and", "please")):
        end -= 1
    return tokens[begin:end]


def _opening(tokens: list[Token], starts: Collection[str]) -> int:
    """Where the command itself begins: past politeness, "then", "first", and "tell me" in front of a question."""
    place = 0
    while place < len(tokens) - 1 and _is_lead(tokens[place], tokens[place + 1]):
        if tokens[place].lower in starts and tokens[place + 1].lower not in starts:
            break
        place += 1
    asked = tokens[place + 2].lower if len(tokens) > place + 2 else ""
    tells = asked in QUESTIONS and tokens[place].lower == "tell" and tokens[place + 1].lower in ("me", "us")
    return place + 2 if tells else place


def _is_lead(token: Token, following: Token) -> bool:
    if token.kind == "mark" or token.lower in FILLERS or token.lower in NEGATIONS:
        return True
    return token.lower == "do" and following.lower == "not"


def _chat(tokens: list[Token]) -> Manner | None:
    """Whether this only greets, or asks what the model is."""
    if len(tokens) > 12 or any(token.kind in LITERALS for token in tokens):
        return None
    words = [token.lower for token in tokens if token.kind == "word"]
    if words and all(word in GREETINGS for word in words):
        return "greeting"
    plain = " ".join(word for word in words if word not in _POLITE)
    return "help" if plain in HELP or " ".join(words) in HELP else None


_POLITE: Final = frozenset(
    ["please", "kindly", "so", "and", "but", "ok", "okay", "hey", "hi", "hello", "exactly", "actually"]
)
