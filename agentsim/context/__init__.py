"""What contexts were filled with, and what each piece of them cost until it left."""

from agentsim.context.context_account import ContextAccount, ContextBlock, ContextGroup, account, together

__all__ = ["ContextAccount", "ContextBlock", "ContextGroup", "account", "together"]
