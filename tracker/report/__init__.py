"""From analysis to memo: view, figures, renderers."""
