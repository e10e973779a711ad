"""Views: text and JSON for people and programs, as functions of values."""
