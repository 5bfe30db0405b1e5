rejoin "Where should we eat in Lisbon?"
rejoin -r "And on a budget?"
rejoin search tasca
rejoin tree --style compact
