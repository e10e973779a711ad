from reeval_build import define_environment, file, git

base = define_environment(
    "base",
    {
        "workspace": git("./project", ref="v1.0.0"),
        "rules": file("rules.md"),
        "files": {"data/new-arrivals.csv": file("new-arrivals.csv")},
        "env": {"SHELF_INDEX": "build/index.json"},
        "setup": [
            "./script/bootstrap",
            {"run": ".venv/bin/python -m shelf index", "timeout": "1m"},
        ],
    },
)

tested = base.extend(
    "tested",
    {"setup": [".venv/bin/python -m unittest discover tests"]},
)
