"""What a run is: frozen values with units in their names. Standard library only."""
