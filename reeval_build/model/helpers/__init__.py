"""What authors call in definitions, one module for each kind of value."""
