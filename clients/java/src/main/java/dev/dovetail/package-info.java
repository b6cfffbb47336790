/**
 * Agents, environments and experiments of the Dovetail protocol.
 *
 * <p>Begin with {@link dev.dovetail.Agent}, {@link dev.dovetail.Environment} or {@link dev.dovetail.Experiment};
 * {@link dev.dovetail.Dovetail} runs the first two as a program. Names are those of the protocol's SPEC.md. Every
 * error is a {@link dev.dovetail.DovetailException}, whose message is one line.
 */
package dev.dovetail;
