"""The words that make up sentences, whatever they are about: tables, no logic.

Words stand here as people write them; `words.stem` brings them to the form that is compared.
"""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of *text* as a set, so that tables can be written as text."""
    return frozenset(text.split())


# Words that can begin a command; the first words of the offered tools' names are added to them.
VERBS: Final = words(
    """
    read open show cat view display print load list ls enumerate search find grep look locate count write save store
    create make build add append delete remove rm erase cancel sum subtract multiply divide calculate compute evaluate
    solve send mail email forward schedule book plan arrange buy order purchase put get fetch retrieve give check update
    change modify edit set move mv rename copy cp duplicate run execute start launch stop translate convert remind
    download upload reply answer respond refund track tell call compare replace summarize summarise describe explain
    note record turn close insert query sort pay ping visit browse see take switch lock unlock say translate post reply
    """
)

# Words that begin a question, and so a command of its own.
QUESTIONS: Final = words("how what what's whats which who when where is are does do did was were")

# Before the verb, these say nothing.
FILLERS: Final = words(
    """
    please kindly now also just then next finally lastly first firstly second secondly third thirdly afterwards so and
    but ok okay hey hi hello well let's lets let us go ahead i i'd i'll we need want would like you can could will may
    should me to quickly again too additionally furthermore moreover after that
    """
)

# With one of these, "I" and "you" belong to a request and tell nothing.
REQUESTS: Final = words("can could will would want need like let let's lets i'd may should please")

# These order a command after the ones before it.
SEQUENCE: Final = words("then next finally afterwards lastly")

NEGATIONS: Final = words("don't dont never not cannot can't")

CONDITIONS: Final = words("if unless whenever")

# After these, "if" asks a question and sets no condition.
INDIRECT: Final = words("me check see know us ask sure test verify")

# A value after one of these is meant to stay out.
EXCLUSIONS: Final = words("not except excluding without but")

# Words without meaning of their own: neither matched nor missed.
STOP_WORDS: Final = words(
    """
    a an the this that these those it its them they their there here i me my mine we us our you your he she his her
    is are was were be been being am do does did done has had having can could will would shall should may might
    must to of in on at by for from with into onto about as under inside within through between per via until till
    since and or but so if then than too very just also please kindly now what what's whats who which when where how
    much many all any some each every both one ones first second third fourth fifth last
    up out off over only such same other another more most let let's lets not no yes ok okay
    less least need want like using use today tomorrow yesterday tonight thing things stuff everything anything away yet
    still already tool tools given following there's it's i'd i'll that's got
    """
)

# Between a thing and what it is about: "mails mentioning rent".
QUALIFIERS: Final = words("mentioning containing matching including regarding concerning")

PREPOSITIONS: Final = words(
    """
    in on at by for from with to into onto of about as under inside within named called titled saying says regarding
    until till since between via per through around near against using after before over above below than because
    """
)

# Words that open a noun phrase and are no part of it.
ARTICLES: Final = words("a an the my our your his her their all any some this that these those its")

NUMBER_WORDS: Final[dict[str, int]] = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "hundred": 100, "thousand": 1000,
}  # fmt: skip

# Where "the second" is, counted from 0; -1 is the last.
ORDINALS: Final[dict[str, int]] = {
    "first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5, "seventh": 6, "eighth": 7, "ninth": 8,
    "tenth": 9, "last": -1, "1st": 0, "2nd": 1, "3rd": 2, "4th": 3, "5th": 4,
}  # fmt: skip

# What is counted inside of a thing: "the first line" points into a file, not at an earlier result.
INNER_UNITS: Final = words(
    "line word page character char byte row paragraph column day hour minute second week month quarter year"
)

# Superlative -> (whether the greatest is meant, the fields that decide, best first).
SUPERLATIVES: Final[dict[str, tuple[bool, str]]] = {
    "largest": (True, "size bytes lines length count total amount value number"),
    "biggest": (True, "size bytes lines length count total amount value number"),
    "longest": (True, "length lines duration size minutes count"),
    "greatest": (True, "value count total amount number size"),
    "highest": (True, "score rating value temperature price amount count"),
    "best": (True, "rating score"),
    "warmest": (True, "temperature celsius degrees"),
    "hottest": (True, "temperature celsius degrees"),
    "newest": (True, "modified date created updated time when start"),
    "latest": (True, "date modified created updated time when start"),
    "smallest": (False, "size bytes lines length count total amount value number"),
    "shortest": (False, "length lines duration size minutes count"),
    "lowest": (False, "price score rating value temperature amount count"),
    "cheapest": (False, "price cost amount total"),
    "worst": (False, "rating score"),
    "coldest": (False, "temperature celsius degrees"),
    "oldest": (False, "modified date created updated time when start"),
    "earliest": (False, "start date time when created"),
    "most expensive": (True, "price cost amount total"),
    "most recent": (True, "date modified created updated time when start"),
}

# Nouns that name an earlier result when "that", "the first" or "each" stands before them.
RESULT_NOUNS: Final = words(
    """
    file files folder folders directory directories document documents result results one ones match matches page pages
    message messages mail mails email emails event events meeting meetings order orders number numbers product products
    item items text texts path paths list city cities hit hits entry entries task tasks note notes contact contacts
    user users customer customers link links url article articles module modules package packages book books answer
    output sum total value values appointment appointments ticket tickets person people record records location
    """
)

# "the result" by itself, without "that" before it.
OUTCOMES: Final = words("result results output outcome answer answers sum total difference quotient")

MONTHS: Final[dict[str, int]] = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip

WEEKDAYS: Final[dict[str, int]] = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
}  # fmt: skip

GREETINGS: Final = words(
    "hi hello hey thanks thank you good morning afternoon evening day bye goodbye there cheers welcome great nice "
    "greetings ok okay cool so much very"
)

# Sentences that ask what the model is, as the set of their words without politeness.
HELP: Final = (
    "help",
    "help me",
    "what can you do",
    "what can i do",
    "what can i ask",
    "what can i ask you",
    "who are you",
    "what are you",
    "are you an llm",
    "are you a language model",
    "are you an ai",
    "are you real",
    "what do you do",
    "how do you work",
    "what tools do you have",
    "which tools do you have",
    "what tools are there",
    "which tools are there",
    "which tools can you use",
    "what tools can you use",
    "list your tools",
    "list the tools",
    "show your tools",
    "introduce yourself",
    "what is your name",
    "what's your name",
    "how can you help",
    "how can you help me",
    "what model are you",
    "which model are you",
    "what model is this",
)
