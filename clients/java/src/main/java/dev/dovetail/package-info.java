/**
 * Agents, environments and experiments of the Dovetail protocol.
 *
 * <p>Begin with {@link dev.dovetail.Agent}, {@link dev.dovetail.Environment} or {@link dev.dovetail.Experiment};
 * {@link dev.dovetail.Dovetail} runs the first two as a program. Names are those of the protocol's SPEC.md. Whatever
 * goes wrong is a {@link dev.dovetail.DovetailException}, whose message is one line for a person.
 */
package dev.dovetail;
