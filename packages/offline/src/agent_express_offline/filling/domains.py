"""What parameters are about, and the words around a value that say for which it is meant: tables, no logic."""

from __future__ import annotations

from typing import Final

from ..reading.vocabulary import words

# Sense of a parameter -> the words in its name or description that say so. The first line that fits wins.
SENSES: Final[dict[str, str]] = {
    "glob": "glob wildcard mask",
    "extension": "extension suffix ext",
    "url": "url uri link href website webpage homepage",
    "folder": "folder directory dir root cwd",
    "path": "path file filename filepath document src",
    "expression": "expression formula equation",
    "reason": "reason cause",
    "query": "query search term keyword keywords needle phrase pattern regex q topic question",
    "title": "title subject heading headline label",
    "content": "content contents body text message markdown comment data note input",
    "repo": "repo repository",
    "currency": "currency",
    "language": "language lang locale",
    "unit": "unit units scale",
    "email": "email mail",
    "person": "recipient attendee attendees to cc bcc user customer contact person participant participants who sender "
    "owner assignee guest invitee author artist singer actor director",
    "place": "city location place country town region where airport station origin destination",
    "date": "date day when start end due deadline since until birthday checkin checkout",
    "time": "time hour",
    "duration": "duration minutes hours seconds days",
    "id": "id identifier sku code key ref reference order ticket invoice",
    "item": "product item article goods thing",
    "amount": "amount count number limit quantity qty max min size total lines price value width height age n k top",
    "name": "name",
}

# Heads of a compound that leave the sense to the word before them: "city_name" is about a city.
GENERIC_HEADS: Final = words("name value string address str list names values first second")

# Nouns that say what kind of thing a value is and are no part of it: "the docs folder", "the city of Rome".
GENERIC_NOUNS: Final = words("file folder directory city town country document product item order number")

# Preposition -> the senses it announces.
ANNOUNCES: Final[dict[str, str]] = {
    "in": "folder path repo place language currency unit date calendar",
    "inside": "folder path",
    "within": "folder path",
    "under": "folder path",
    "from": "folder path place person email date time currency language unit url",
    "to": "person email repo path folder place language currency unit content",
    "into": "folder path language currency",
    "onto": "folder path",
    "for": "query person place date id item title name duration",
    "about": "query title content",
    "regarding": "query title",
    "on": "date place time item",
    "at": "time place path folder url",
    "with": "person email",
    "because": "reason",
    ":": "content title query",
    "alone": "folder path",
    "as": "path title name unit",
    "of": "path folder place id item expression person",
    "by": "person date",
    "between": "place date",
    "near": "place",
    "around": "place time",
    "until": "date time",
    "till": "date time",
    "since": "date time",
    "named": "name title path person item",
    "called": "name title path person item",
    "titled": "title name",
    "saying": "content",
    "says": "content",
}

# A word beside a value -> words that the name of its parameter may have instead.
ROLES: Final[dict[str, str]] = {
    "to": "destination dest target to new",
    "into": "destination dest target to",
    "onto": "destination dest target to",
    "from": "source src from origin old start",
    "under": "max maximum",
    "below": "max maximum",
    "less": "max maximum",
    "over": "min minimum",
    "above": "min minimum",
    "least": "min minimum",
    "until": "end until",
    "till": "end until",
    "since": "start since",
    "euro": "price cost amount budget",
    "dollar": "price cost amount budget",
    "pound": "price cost amount budget",
    "percent": "percentage percent brightness",
    "last": "limit count",
    "first": "limit count",
    "top": "limit count",
    "result": "limit count hit",
    "hit": "limit count result",
    "piece": "quantity qty count",
    "copy": "quantity qty count",
    "time": "quantity qty count times",
    "person": "guest people person party",
    "guest": "guest people person party",
}

# Names of where something comes from, and of where it goes.
FROM_WORDS: Final = words("source src from origin old")

TO_WORDS: Final = words("destination dest target new")

# The word before "files" -> the ending of such files.
FILE_KINDS: Final[dict[str, str]] = {
    "python": "py",
    "markdown": "md",
    "text": "txt",
    "json": "json",
    "yaml": "yaml",
    "toml": "toml",
    "csv": "csv",
    "javascript": "js",
    "typescript": "ts",
    "html": "html",
    "css": "css",
    "rust": "rs",
    "java": "java",
    "go": "go",
    "ruby": "rb",
    "sql": "sql",
    "xml": "xml",
    "pdf": "pdf",
    "png": "png",
    "log": "log",
    "shell": "sh",
    "ini": "ini",
    "svg": "svg",
}
