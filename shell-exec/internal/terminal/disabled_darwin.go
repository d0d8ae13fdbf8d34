package terminal

const disabled = 0xff // a key of the terminal that is off
