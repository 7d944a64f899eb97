"""What nature does: the atmosphere, the gas and the quantities that engineers read off a flow field."""
