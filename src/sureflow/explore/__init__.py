"""The explorer: a trained model as one self-contained page, evaluated in the browser."""
