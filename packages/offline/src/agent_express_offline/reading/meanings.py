"""Which words mean the same, and which verbs only look or change something: tables, no logic."""

from __future__ import annotations

from typing import Final

from .vocabulary import words

# Words of one line can stand for one another, at a lower weight than the very same word.
CONCEPTS: Final[dict[str, str]] = {
    "read": "read look open show cat view display print load see content contents say inside",
    "list": "list ls enumerate show display find see index overview have inside",
    "search": "search find grep look lookup seek locate query mention contain occurrence occurrences",
    "count": "count many tally",
    "write": "write save store put record dump note create",
    "create": "create make new build add generate set start open file",
    "delete": "delete remove rm erase drop discard clear unlink",
    "cancel": "cancel delete remove call-off abort revoke",
    "sum": "add sum plus total together +",
    "subtract": "subtract minus difference less deduct take -",
    "multiply": "multiply times product * \xd7 multiplied",
    "divide": "divide quotient / \xf7 divided over",
    "power": "power exponent raise squared cubed ^",
    "root": "root sqrt",
    "average": "average mean avg",
    "calculate": "calculate compute evaluate solve calc calculator expression math",
    "send": "send mail email message forward notify write",
    "transfer": "transfer send wire pay",
    "schedule": "schedule book plan arrange create add set put invite",
    "buy": "buy order purchase",
    "cart": "cart basket trolley",
    "put": "put add place",
    "weather": "weather forecast temperature rain raining rainy sunny cold warm hot snow snowing wind windy umbrella",
    "folder": "folder directory dir",
    "file": "file document",
    "code": "code source",
    "price": "price cost expensive cheap charge",
    "get": "get fetch retrieve show give check look lookup display load obtain open visit browse",
    "update": "update change modify edit set alter adjust",
    "move": "move mv rename relocate",
    "copy": "copy cp duplicate clone",
    "run": "run execute start launch",
    "translate": "translate translation",
    "convert": "convert conversion exchange change turn",
    "remind": "remind reminder remember alert",
    "event": "event meeting appointment calendar agenda",
    "mail": "mail email message inbox letter",
    "product": "product item article goods",
    "person": "customer client user contact person",
    "status": "status state track tracking progress",
    "calendar": "calendar agenda schedule event",
    "free": "free available availability slot",
    "task": "task todo to-do",
    "complete": "complete finish done mark close",
    "download": "download fetch get",
    "reply": "reply answer respond",
    "refund": "refund reimburse return",
    "time": "time clock hour",
    "stock": "stock inventory available availability left",
    "append": "append add attach",
    "replace": "replace substitute swap",
    "summarize": "summarize summary",
    "line": "line row",
    "switch": "switch turn set toggle",
    "fewest": "minimum min smallest lowest",
    "most": "maximum max largest highest biggest",
}

# Another spelling, or an irregular form -> the word that stands for it.
SPELLINGS: Final[dict[str, str]] = {
    "summarise": "summarize",
    "e-mail": "email",
    "colour": "color",
    "mails": "mail",
    "written": "write",
    "wrote": "write",
    "sent": "send",
    "found": "find",
    "bought": "buy",
    "people": "person",
}

# Verbs that people say for all kinds of things: they count less, and unknown ones count nothing.
GENERIC_VERBS: Final = words(
    "get show give tell make do set run have see check find look calculate compute work let want go take"
)

# Verbs whose tools change something: they are called only when the verb, or one like it, was said.
CHANGING: Final = words(
    """
    write save store put create make add append delete remove rm erase wipe purge cancel send mail email forward
    schedule book buy sell order purchase update change modify edit set reset move rename copy run execute start launch
    stop kill terminate restart reboot refund charge pay transfer deposit withdraw reply post publish lock unlock switch
    turn upload complete close insert replace drop clear submit approve reject deploy release install uninstall enable
    disable assign invite ban block register subscribe unsubscribe archive restore import merge push commit rebase call
    dial play pause remind
    """
)

# Of these, the ones that are nouns as often: "refund_order" refunds.
ALSO_NOUNS: Final = words("order mail email book post set lock switch close")

# Verbs whose tools only look: their calls may stand in one batch in any order.
LOOKING: Final = words(
    """
    read show cat view display print load list ls search find grep look lookup locate count get fetch retrieve check
    query describe explain calculate compute evaluate sum subtract multiply divide power sqrt average mean
    convert translate compare track weather forecast summarize summarise browse
    """
)
