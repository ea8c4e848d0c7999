"""Queries every expression of the dashboard from a Prometheus that scrapes runs; each must return data. All targets must be up, and all
alerts healthy and inactive.

    ask.py PROMETHEUS DASHBOARD
"""

import json
import math
import sys
import urllib.parse
import urllib.request

server, dashboard = sys.argv[1:]


def ask(path, **parameters):
    url = f"{server}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]


def expressions(panels):
    for panel in panels:
        yield from (target["expr"] for target in panel.get("targets", []))
        yield from expressions(panel.get("panels", []))


problems = []
for target in ask("targets")["activeTargets"]:
    if target["health"] != "up":
        problems.append(f"{target['scrapeUrl']}: {target['lastError']}")

with open(dashboard, encoding="utf-8") as file:
    asked = list(expressions(json.load(file)["panels"]))
for expression in asked:
    query = expression.replace("$__rate_interval", "10s").replace("$instance", ".*")
    series = ask("query", query=query)["result"]
    numbers = [float(one["value"][1]) for one in series]
    if not any(math.isfinite(number) for number in numbers):
        problems.append(f"no data: {query}")

rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
for rule in rules:
    if rule["health"] != "ok" or rule["state"] != "inactive":
        problems.append(f"{rule['name']} is {rule['state']}: {rule.get('lastError') or rule['alerts']}")

if problems or not asked or not rules:
    sys.exit("\n".join(problems or ["no expressions or no alerts"]))
print(f"{len(asked)} expressions of the dashboard return data, {len(rules)} alerts are inactive")
