package main

type terminalWish struct{}
