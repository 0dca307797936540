"""Commands that read several reports."""
