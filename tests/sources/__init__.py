"""Real repositories, real servers on loopback, real files."""
