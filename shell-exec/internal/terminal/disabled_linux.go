package terminal

const disabled = 0 // a key of the terminal that is off
