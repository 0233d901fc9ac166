"""How well memory finds things: data sets, baselines, measures and reports."""
