"""The service: trained models behind HTTP, and their explorers."""
