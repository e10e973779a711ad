"""What fetched trees have in them: skills, plugins, marketplaces, and the files harnesses read them from."""
