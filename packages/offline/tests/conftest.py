"""Tool sets that stand in for what users offer, and a loop that runs them: what the real agent does, in ten lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

import pytest

from agent_express.messages import Json, Message, ModelRequest, ModelResponse, Text, ToolDef, ToolResult
from agent_express.models import complete
from agent_express_offline import OfflineModel

Body = Callable[..., Any]


@dataclass
class Toolbox:
    """Tools with bodies, and the calls that were made of them, one list per step."""

    tools: tuple[ToolDef, ...]
    bodies: Mapping[str, Body]
    steps: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)

    def run(self, name: str, args: dict[str, Any]) -> ToolResult:
        try:
            value = self.bodies[name](**args)
        except Exception as error:
            return ToolResult(f"{type(error).__name__}: {error}", is_error=True)
        return ToolResult([Text(value) if isinstance(value, str) else Json(value)])

    async def turn(self, messages: list[Message], model: Any = None, **request: Any) -> ModelResponse:
        """Call the model until it calls no more tools; *messages* grows by what is said and returned."""
        model = model or OfflineModel()
        for _ in range(20):
            response = await complete(model, ModelRequest(model, tuple(messages), tools=self.tools, **request))
            messages.append(response.message)
            calls = response.message.tool_calls
            if not calls:
                return response
            self.steps.append([(call.name, call.parsed()) for call in calls])
            results = [self.run(call.name, call.parsed()).replace(call_id=call.id, name=call.name) for call in calls]
            messages.append(Message("tool", results))
        raise AssertionError(f"no answer after 20 steps: {self.steps}")

    async def ask(self, text: str, model: Any = None, **request: Any) -> str:
        """One turn of a new conversation; the answer's text."""
        return (await self.turn([Message("user", text)], model, **request)).message.text


def schema(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def whole(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, **more}


def number(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "number", "description": description, **more}


def switch(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "boolean", "description": description, **more}


def texts(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description, **more}


# --- files ----------------------------------------------------------------------------------------

TREE = {
    "README.md": "# Demo\n\nA small tree.\nMiddleware wraps tools.\n",
    "LICENSE": "MIT\n",
    "pyproject.toml": '[project]\nname = "demo"\n',
    "notes.txt": "one\ntwo\nthree\n",
    "packages/core/onion.py": "def compose():\n    return None\n",
    "packages/core/tools.py": "\n".join(f"line {n}" for n in range(1, 31)),
    "packages/core/readme.md": "core\n",
    "docs/guide.md": "Guide\nMiddleware first.\n",
    "docs/api.md": "API\n",
}


def file_tools() -> Toolbox:
    files = dict(TREE)

    def list_files(folder: str = ".", pattern: str = "*", recursive: bool = True) -> list[str]:
        inside = [path for path in sorted(files) if folder == "." or path.startswith(folder.rstrip("/") + "/")]
        if not inside:
            raise FileNotFoundError(folder)
        return [path for path in inside if fnmatch(path.rsplit("/", 1)[-1], pattern)]

    def read_file(path: str, start: int = 1, lines: int = 1000) -> str:
        return "\n".join(_content(path).splitlines()[start - 1 : start - 1 + lines])

    def _content(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    def search_text(text: str, folder: str = ".") -> list[dict[str, Any]]:
        return [
            {"path": path, "line": number, "text": line}
            for path in list_files(folder)
            for number, line in enumerate(files[path].splitlines(), 1)
            if text in line
        ]

    def write_file(path: str, content: str) -> str:
        files[path] = content
        return f"wrote {len(content)} characters"

    def delete_file(path: str) -> str:
        _content(path)
        del files[path]
        return "deleted"

    def move_file(source: str, destination: str) -> str:
        files[destination] = files.pop(source)
        return "moved"

    bodies = {
        "list_files": list_files,
        "read_file": read_file,
        "search_text": search_text,
        "count_lines": lambda path: len(_content(path).splitlines()),
        "write_file": write_file,
        "delete_file": delete_file,
        "move_file": move_file,
    }
    path = text("Path of the file, relative to the root")
    tools = (
        ToolDef(
            "list_files",
            "List the files of a folder and of the folders in it.",
            schema(
                folder=text("The folder; all files without it", default="."),
                pattern=text("Which names, as *.py", default="*"),
                recursive=switch("Whether to look into folders", default=True),
            ),
        ),
        ToolDef(
            "read_file",
            "Read a text file, all of it or some lines.",
            schema(["path"], path=path, start=whole("The first line, from 1"), lines=whole("How many lines")),
        ),
        ToolDef(
            "search_text",
            "Find a text in the files of a folder.",
            schema(["text"], text=text("What to look for"), folder=text("Where to look", default=".")),
        ),
        ToolDef("count_lines", "Count the lines of a file.", schema(["path"], path=path)),
        ToolDef(
            "write_file",
            "Write a text into a file; what was in it is lost.",
            schema(["path", "content"], path=path, content=text("The new content")),
        ),
        ToolDef("delete_file", "Delete a file for good.", schema(["path"], path=path)),
        ToolDef(
            "move_file",
            "Move or rename a file.",
            schema(["source", "destination"], source=text("Path now"), destination=text("Path afterwards")),
        ),
    )
    return Toolbox(tools, bodies)


# --- a desk: calendar, mail, tasks ------------------------------------------------------------------


def calendar_tools() -> Toolbox:
    events = [
        {"event_id": "EV-1", "title": "Standup", "date": "2026-03-02", "start": "09:00"},
        {"event_id": "EV-2", "title": "Review", "date": "2026-03-02", "start": "15:00"},
    ]
    tools = (
        ToolDef(
            "create_event",
            "Put a new event into the calendar.",
            schema(
                ["title", "date"],
                title=text("What it is about"),
                date=text("The day", format="date"),
                time=text("When it begins", format="time"),
                attendees=texts("Who is invited"),
                duration_minutes=whole("How long it takes"),
            ),
        ),
        ToolDef("list_events", "Show what is in the calendar on a day.", schema(["date"], date=text(format="date"))),
        ToolDef("cancel_event", "Remove an event from the calendar.", schema(["event_id"], event_id=text("Its id"))),
        ToolDef(
            "find_free_slot",
            "Find a free time on a day.",
            schema(["date"], date=text(format="date"), duration_minutes=whole("How long", default=30)),
        ),
    )
    bodies = {
        "create_event": lambda **args: {"event_id": "EV-9", **args},
        "list_events": lambda date: [event for event in events if event["date"] == date],
        "cancel_event": lambda event_id: f"cancelled {event_id}",
        "find_free_slot": lambda date, duration_minutes=30: "11:00",
    }
    return Toolbox(tools, bodies)


def mail_tools() -> Toolbox:
    mails = [
        {"id": "M-7", "sender": "ann@example.org", "subject": "Invoice 12", "size": 40},
        {"id": "M-8", "sender": "bob@example.org", "subject": "Invoice 13", "size": 90},
    ]
    tools = (
        ToolDef(
            "send_email",
            "Send an e-mail.",
            schema(
                ["to", "body"],
                to=text("The recipient's address", format="email"),
                subject=text("The subject line"),
                body=text("The text"),
            ),
        ),
        ToolDef(
            "search_mail",
            "Search the mailbox.",
            schema(
                ["query"],
                query=text("Words to look for"),
                folder={"enum": ["inbox", "sent", "archive"], "description": "Which folder"},
            ),
        ),
        ToolDef("read_mail", "Show one mail in full.", schema(["id"], id=text("The mail's id"))),
        ToolDef("delete_mail", "Delete a mail.", schema(["id"], id=text("The mail's id"))),
    )
    bodies = {
        "send_email": lambda to, body, subject="": f"sent to {to}",
        "search_mail": lambda query, folder="inbox": [
            mail for mail in mails if query.lower() in mail["subject"].lower()
        ],
        "read_mail": lambda id: f"Text of {id}.",
        "delete_mail": lambda id: f"{id} deleted",
    }
    return Toolbox(tools, bodies)


def task_tools() -> Toolbox:
    tools = (
        ToolDef(
            "add_task",
            "Add a task to the list.",
            schema(
                ["title"],
                title=text("What is to be done"),
                priority={"type": "string", "enum": ["low", "normal", "high"]},
                due=text("Until when", format="date"),
            ),
        ),
        ToolDef("complete_task", "Mark a task as done.", schema(["task_id"], task_id=whole("Its number"))),
        ToolDef(
            "list_tasks",
            "List the tasks.",
            schema(status={"type": "string", "enum": ["open", "done", "all"]}, urgent_only=switch("Only urgent ones")),
        ),
    )
    bodies = {
        "add_task": lambda **args: {"task_id": 5, **args},
        "complete_task": lambda task_id: f"task {task_id} is done",
        "list_tasks": lambda **args: [{"task_id": 3, "title": "Call Ann"}, {"task_id": 4, "title": "Pay rent"}],
    }
    return Toolbox(tools, bodies)


# --- a shop, sums, the weather, a home, the web -----------------------------------------------------


def shop_tools() -> Toolbox:
    products = [
        {"product_id": "P-1", "name": "Green tea", "price": 4.5},
        {"product_id": "P-2", "name": "Black tea", "price": 3.25},
        {"product_id": "P-3", "name": "Tea pot", "price": 19.0},
    ]
    tools = (
        ToolDef(
            "search_products",
            "Search the shop for products.",
            schema(["query"], query=text("What is wanted"), max_price=number("Highest price in euros")),
        ),
        ToolDef(
            "add_to_cart",
            "Put a product into the cart.",
            schema(
                ["product_id"], product_id=text("The product's id"), quantity=whole("How many", default=1, minimum=1)
            ),
        ),
        ToolDef("get_order_status", "Tell where an order is.", schema(["order_id"], order_id=text("The order's id"))),
        ToolDef(
            "refund_order",
            "Give the money for an order back.",
            schema(["order_id"], order_id=text("The order's id"), reason=text("Why")),
        ),
        ToolDef("list_orders", "List the orders of a customer.", schema(customer=text("The customer's name"))),
    )
    bodies = {
        "search_products": lambda query, max_price=1e9: [
            each for each in products if query.lower() in each["name"].lower() and each["price"] <= max_price
        ],
        "add_to_cart": lambda product_id, quantity=1: f"{quantity} x {product_id} in the cart",
        "get_order_status": lambda order_id: {"order_id": order_id, "status": "on its way"},
        "refund_order": lambda order_id, reason="": f"{order_id} refunded",
        "list_orders": lambda customer="": [{"order_id": "A-1042", "total": 12}, {"order_id": "A-1043", "total": 30}],
    }
    return Toolbox(tools, bodies)


def math_tools() -> Toolbox:
    def pair(name: str, about: str) -> ToolDef:
        return ToolDef(name, about, schema(["a", "b"], a=number("First number"), b=number("Second number")))

    tools = (
        pair("add", "Add two numbers."),
        pair("subtract", "Subtract the second number from the first."),
        pair("multiply", "Multiply two numbers."),
        pair("divide", "Divide the first number by the second."),
        ToolDef(
            "average",
            "The mean of some numbers.",
            schema(["numbers"], numbers={"type": "array", "items": {"type": "number"}}),
        ),
        ToolDef("square_root", "The square root of a number.", schema(["x"], x=number())),
    )
    bodies: dict[str, Body] = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / b,
        "average": lambda numbers: sum(numbers) / len(numbers),
        "square_root": lambda x: x**0.5,
    }
    return Toolbox(tools, bodies)


def weather_tools() -> Toolbox:
    tools = (
        ToolDef(
            "get_weather",
            "The weather in a city now.",
            schema(["city"], city=text("Name of the city"), unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
        ),
        ToolDef(
            "get_forecast",
            "The weather forecast for the coming days.",
            schema(["city"], city=text("Name of the city"), days=whole("How many days", minimum=1, maximum=14)),
        ),
        ToolDef(
            "convert_currency",
            "Convert an amount of money into another currency.",
            schema(
                ["amount", "from_currency", "to_currency"],
                amount=number("How much"),
                from_currency=text("Three letters"),
                to_currency=text("Three letters"),
            ),
        ),
    )
    degrees = {"Paris": 14, "London": 9, "Rome": 21}
    bodies = {
        "get_weather": lambda city, unit="celsius": {"city": city, "temperature": degrees.get(city, 10)},
        "get_forecast": lambda city, days=3: [{"day": day, "temperature": 10 + day} for day in range(1, days + 1)],
        "convert_currency": lambda amount, from_currency, to_currency: round(amount * 0.9, 2),
    }
    return Toolbox(tools, bodies)


def home_tools() -> Toolbox:
    tools = (
        ToolDef(
            "set_light",
            "Switch the light of a room.",
            schema(
                ["room", "state"],
                room={"type": "string", "enum": ["kitchen", "bedroom", "living room"]},
                state={"type": "string", "enum": ["on", "off"]},
                brightness=whole("Percent", minimum=1, maximum=100),
            ),
        ),
        ToolDef("set_temperature", "Set the heating.", schema(["degrees"], degrees=number("Celsius"))),
        ToolDef("lock_door", "Lock a door.", schema(["door"], door={"enum": ["front", "back", "garage"]})),
    )
    bodies = {name: lambda **args: "done" for name in ("set_light", "set_temperature", "lock_door")}
    return Toolbox(tools, bodies)


def web_tools() -> Toolbox:
    tools = (
        ToolDef("fetch_page", "Fetch a web page.", schema(["url"], url=text("The address", format="uri"))),
        ToolDef(
            "search_web",
            "Search the web.",
            schema(["query"], query=text("What to look for"), max_results=whole("How many hits")),
        ),
        ToolDef(
            "translate",
            "Translate a text into another language.",
            schema(["text", "target_language"], text=text(), target_language=text("Such as French")),
        ),
    )
    bodies = {
        "fetch_page": lambda url: f"The page at {url}",
        "search_web": lambda query, max_results=3: [
            {"title": f"About {query}", "url": "https://example.org/a"},
            {"title": f"More on {query}", "url": "https://example.org/b"},
        ],
        "translate": lambda text, target_language: f"[{target_language}] {text}",
    }
    return Toolbox(tools, bodies)


# --- a library, travel, contacts ----------------------------------------------------------------------


def library_tools() -> Toolbox:
    books = [
        {"isbn": "978-1", "title": "Dune", "year": 1965},
        {"isbn": "978-2", "title": "Dune Messiah", "year": 1969},
    ]
    tools = (
        ToolDef(
            "search_books",
            "Search the catalogue.",
            schema(["query"], query=text("Title or author"), language=text("Such as English")),
        ),
        ToolDef("reserve_book", "Reserve a book for a member.", schema(["isbn"], isbn=text("The book's ISBN"))),
        ToolDef("list_loans", "Show what a member has borrowed.", schema(["member"], member=text("Name"))),
        ToolDef(
            "renew_loan",
            "Prolong a loan.",
            schema(["loan_id"], loan_id=whole("Its number"), weeks=whole("By how many")),
        ),
    )
    bodies: dict[str, Body] = {
        "search_books": lambda query, language="": [
            book for book in books if query.lower() in str(book["title"]).lower()
        ],
        "reserve_book": lambda isbn: f"{isbn} reserved",
        "list_loans": lambda member: [{"loan_id": 11, "title": "Emma"}, {"loan_id": 12, "title": "Ulysses"}],
        "renew_loan": lambda loan_id, weeks=4: f"loan {loan_id} renewed",
    }
    return Toolbox(tools, bodies)


def travel_tools() -> Toolbox:
    tools = (
        ToolDef(
            "search_flights",
            "Find flights between two cities on a day.",
            schema(
                ["origin", "destination", "date"],
                origin=text("City of departure"),
                destination=text("City of arrival"),
                date=text(format="date"),
                max_price=number("In euros"),
            ),
        ),
        ToolDef(
            "book_hotel",
            "Book a hotel room.",
            schema(
                ["city", "checkin", "nights"],
                city=text(),
                checkin=text(format="date"),
                nights=whole(minimum=1),
                guests=whole(minimum=1, default=1),
            ),
        ),
        ToolDef(
            "distance",
            "The distance between two cities in kilometres.",
            schema(["a", "b"], a=text("City"), b=text("City")),
        ),
    )
    bodies: dict[str, Body] = {
        "search_flights": lambda **args: [{"flight": "AX 1", "price": 120}, {"flight": "AX 2", "price": 90}],
        "book_hotel": lambda **args: "booked",
        "distance": lambda a, b: 1100,
    }
    return Toolbox(tools, bodies)


def contact_tools() -> Toolbox:
    tools = (
        ToolDef(
            "add_contact",
            "Add a person to the address book.",
            schema(["name"], name=text("Full name"), email=text(format="email"), phone=text("Phone number")),
        ),
        ToolDef(
            "find_contact",
            "Look a person up in the address book.",
            schema(["name"], name=text("Full name or part of it")),
        ),
        ToolDef("delete_contact", "Remove a person from the address book.", schema(["name"], name=text("Full name"))),
        ToolDef("call_contact", "Start a phone call.", schema(["phone"], phone=text("Phone number"))),
    )
    bodies: dict[str, Body] = {
        "add_contact": lambda **args: "added",
        "find_contact": lambda name: {"name": name, "phone": "555-0100", "email": "x@example.org"},
        "delete_contact": lambda name: f"{name} deleted",
        "call_contact": lambda phone: f"calling {phone}",
    }
    return Toolbox(tools, bodies)


# --- issues, a bank, music -------------------------------------------------------------------------


def issue_tools() -> Toolbox:
    issues = [
        {"number": 7, "title": "Crash on start", "comments": 2},
        {"number": 9, "title": "Slow search", "comments": 5},
    ]
    tools = (
        ToolDef(
            "create_issue",
            "Open a new issue.",
            schema(["title"], title=text("One line"), body=text("The details"), labels=texts("Labels to put on it")),
        ),
        ToolDef(
            "list_issues",
            "List the issues of the project.",
            schema(state={"enum": ["open", "closed", "all"]}, label=text("Only those with this label")),
        ),
        ToolDef("close_issue", "Close an issue.", schema(["number"], number=whole("The issue's number"))),
        ToolDef(
            "comment_issue",
            "Write a comment on an issue.",
            schema(["number", "text"], number=whole("The issue's number"), text=text("The comment")),
        ),
    )
    bodies: dict[str, Body] = {
        "create_issue": lambda **args: {"number": 10, **args},
        "list_issues": lambda **args: issues,
        "close_issue": lambda number: f"issue {number} closed",
        "comment_issue": lambda number, text: "commented",
    }
    return Toolbox(tools, bodies)


def bank_tools() -> Toolbox:
    tools = (
        ToolDef(
            "get_balance", "How much money is on an account.", schema(["account"], account=text("Name of the account"))
        ),
        ToolDef(
            "transfer_money",
            "Send money to somebody.",
            schema(
                ["amount", "recipient"],
                amount=number("In euros"),
                recipient=text("Who gets it"),
                purpose=text("What for"),
            ),
        ),
        ToolDef(
            "list_transactions",
            "List what came in and went out of an account.",
            schema(
                ["account"], account=text("Name of the account"), since=text(format="date"), limit=whole("How many")
            ),
        ),
    )
    bodies: dict[str, Body] = {
        "get_balance": lambda account: 1234.5,
        "transfer_money": lambda **args: "sent",
        "list_transactions": lambda **args: [{"to": "Shop", "amount": 12.5}, {"to": "Rent", "amount": 700}],
    }
    return Toolbox(tools, bodies)


def music_tools() -> Toolbox:
    songs = [
        {"song_id": "S1", "title": "Hey Jude", "seconds": 431},
        {"song_id": "S2", "title": "Let It Be", "seconds": 243},
    ]
    tools = (
        ToolDef("search_songs", "Search the music library.", schema(["query"], query=text("Title or artist"))),
        ToolDef("play_song", "Play a song.", schema(["song_id"], song_id=text("The song's id"))),
        ToolDef("set_volume", "Set how loud the music is.", schema(["percent"], percent=whole(minimum=0, maximum=100))),
        ToolDef("pause", "Pause the music.", schema()),
    )
    bodies: dict[str, Body] = {
        "search_songs": lambda query: songs,
        "play_song": lambda song_id: f"playing {song_id}",
        "set_volume": lambda percent: f"{percent} %",
        "pause": lambda: "paused",
    }
    return Toolbox(tools, bodies)


# --- a kitchen, a database, fitness ------------------------------------------------------------------


def kitchen_tools() -> Toolbox:
    recipes = [
        {"recipe_id": 31, "name": "Tomato soup", "minutes": 30},
        {"recipe_id": 32, "name": "Tomato tart", "minutes": 75},
    ]
    tools = (
        ToolDef(
            "find_recipes",
            "Find recipes by ingredient.",
            schema(["ingredient"], ingredient=text("Such as tomato"), max_minutes=whole("Longest time it may take")),
        ),
        ToolDef("show_recipe", "Show a recipe in full.", schema(["recipe_id"], recipe_id=whole("The recipe's id"))),
        ToolDef(
            "add_to_shopping_list",
            "Put something on the shopping list.",
            schema(["item"], item=text("What to buy"), quantity=whole("How many", default=1)),
        ),
        ToolDef("clear_shopping_list", "Throw the shopping list away.", schema()),
    )
    bodies: dict[str, Body] = {
        "find_recipes": lambda ingredient, max_minutes=999: recipes,
        "show_recipe": lambda recipe_id: f"Recipe {recipe_id}",
        "add_to_shopping_list": lambda item, quantity=1: f"{quantity} x {item}",
        "clear_shopping_list": lambda: "empty",
    }
    return Toolbox(tools, bodies)


def database_tools() -> Toolbox:
    tools = (
        ToolDef("list_tables", "List the tables of the database.", schema()),
        ToolDef("describe_table", "Show the columns of a table.", schema(["table"], table=text("Name of the table"))),
        ToolDef("run_query", "Run an SQL query.", schema(["sql"], sql=text("The query"))),
        ToolDef(
            "export_table",
            "Write a table into a file.",
            schema(
                ["table", "path"],
                table=text("Name of the table"),
                path=text("The file"),
                format={"enum": ["csv", "json"]},
            ),
        ),
    )
    bodies: dict[str, Body] = {
        "list_tables": lambda: ["users", "orders"],
        "describe_table": lambda table: [{"column": "id", "type": "integer"}],
        "run_query": lambda sql: [{"n": 3}],
        "export_table": lambda **args: "exported",
    }
    return Toolbox(tools, bodies)


def fitness_tools() -> Toolbox:
    tools = (
        ToolDef(
            "log_workout",
            "Note a workout.",
            schema(
                ["activity", "minutes"],
                activity={"enum": ["running", "swimming", "cycling"]},
                minutes=whole("How long"),
                date=text(format="date"),
            ),
        ),
        ToolDef("get_steps", "How many steps were made on a day.", schema(["date"], date=text(format="date"))),
        ToolDef("set_step_goal", "Set how many steps a day are the goal.", schema(["steps"], steps=whole(minimum=1))),
    )
    bodies: dict[str, Body] = {
        "log_workout": lambda **args: "noted",
        "get_steps": lambda date: 8211,
        "set_step_goal": lambda steps: f"goal {steps}",
    }
    return Toolbox(tools, bodies)


# --- only for the held-out sentences: nothing was tuned on these ------------------------------------


def server_tools() -> Toolbox:
    servers = [{"name": "web-1", "cpu": 80, "status": "up"}, {"name": "web-2", "cpu": 20, "status": "up"}]
    server = text("Name of the server, such as web-1")
    tools = (
        ToolDef("list_servers", "List the servers.", schema(status={"enum": ["up", "down"]})),
        ToolDef("restart_server", "Restart a server.", schema(["server"], server=server)),
        ToolDef(
            "read_logs",
            "Show the last lines of a server's log.",
            schema(
                ["server"], server=server, lines=whole("How many lines"), level={"enum": ["info", "warning", "error"]}
            ),
        ),
        ToolDef(
            "scale_service",
            "Set how many copies of a service run.",
            schema(["service", "copies"], service=text(), copies=whole(minimum=0)),
        ),
    )
    bodies: dict[str, Body] = {
        "list_servers": lambda **args: servers,
        "restart_server": lambda server: f"{server} restarted",
        "read_logs": lambda **args: "12:00 started",
        "scale_service": lambda service, copies: f"{copies} copies of {service}",
    }
    return Toolbox(tools, bodies)


def school_tools() -> Toolbox:
    tools = (
        ToolDef(
            "list_students", "List the students of a class.", schema(["class_name"], class_name=text("Such as 7b"))
        ),
        ToolDef(
            "record_grade",
            "Write a grade into the register.",
            schema(
                ["student", "subject", "grade"],
                student=text("Name of the student"),
                subject={"enum": ["math", "history", "music"]},
                grade=whole(minimum=1, maximum=6),
            ),
        ),
        ToolDef("get_timetable", "The lessons of a day.", schema(["date"], date=text(format="date"))),
    )
    bodies: dict[str, Body] = {
        "list_students": lambda class_name: ["Ann", "Bob", "Carl"],
        "record_grade": lambda **args: "recorded",
        "get_timetable": lambda date: ["math", "music"],
    }
    return Toolbox(tools, bodies)


def photo_tools() -> Toolbox:
    photos = [{"file": "a.jpg", "width": 800}, {"file": "b.jpg", "width": 1600}]
    tools = (
        ToolDef(
            "find_photos",
            "Find photos by what is on them.",
            schema(["subject"], subject=text("Such as a dog"), year=whole()),
        ),
        ToolDef(
            "resize_photo",
            "Make a photo smaller.",
            schema(["file", "width"], file=text("Name of the file"), width=whole("Pixels")),
        ),
        ToolDef("delete_photo", "Delete a photo.", schema(["file"], file=text("Name of the file"))),
    )
    bodies: dict[str, Body] = {
        "find_photos": lambda subject, year=0: photos,
        "resize_photo": lambda file, width: f"{file} is {width} wide",
        "delete_photo": lambda file: f"{file} deleted",
    }
    return Toolbox(tools, bodies)


TOOLBOXES: dict[str, Callable[[], Toolbox]] = {
    "files": file_tools,
    "calendar": calendar_tools,
    "mail": mail_tools,
    "tasks": task_tools,
    "shop": shop_tools,
    "math": math_tools,
    "weather": weather_tools,
    "home": home_tools,
    "web": web_tools,
    "library": library_tools,
    "travel": travel_tools,
    "contacts": contact_tools,
    "issues": issue_tools,
    "bank": bank_tools,
    "music": music_tools,
    "kitchen": kitchen_tools,
    "database": database_tools,
    "fitness": fitness_tools,
    "servers": server_tools,
    "school": school_tools,
    "photos": photo_tools,
}


@pytest.fixture
def toolbox() -> Callable[[str], Toolbox]:
    """Makes a fresh set of tools by its name."""
    return lambda name: TOOLBOXES[name]()


@pytest.fixture
def files() -> Toolbox:
    """Tools over a small tree of files in memory."""
    return file_tools()
