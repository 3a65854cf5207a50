"""What the help desk can do."""

from agent_express import tool


@tool(read_only=True)
def parcel(number: int) -> str:
    """Tell where the parcel of a number is, and who has it."""
    return f"Parcel {number} is at your neighbour's, ada@example.org."


@tool
def refund(parcel: int, euros: int) -> str:
    """Refund an amount for a damaged parcel."""
    return f"{euros} euros are on their way for parcel {parcel}."
