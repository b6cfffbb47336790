package dev.dovetail;

/** Gives the episode up: it ends against the seat. An agent answers it in place of an action. */
public record Resign() {}
