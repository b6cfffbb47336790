package dev.dovetail;

/** Gives up the episode: the seat loses. An agent returns it instead of an action. */
public record Resign() {}
