package dovetail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Serve connects a host to a broker and answers until the broker sends bye or ctx is done; neither is an error.
func Serve(ctx context.Context, config Config, host Host) error {
	l, err := dial(ctx, config, config.hello(host.Role(), host.Offers()))
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return nil
		}
		return err
	}
	defer l.close()
	switch {
	case config.Ready != nil:
		config.Ready(l.welcome())
	case ctx.Value(underMain{}) != nil:
		fmt.Println(readyLine(host, l.address, l.welcome().Name))
	}
	for ctx.Err() == nil {
		messages, err := l.receive()
		if err != nil {
			return err
		}
		if len(messages) == 0 && l.departed() {
			return nil
		}
		for i := 0; i < len(messages) && ctx.Err() == nil; i++ {
			if err := l.answer(host.Handle(ctx, messages[i:i+1]), i == len(messages)-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// ServeAgents serves agent types; see Serve.
func ServeAgents(ctx context.Context, config Config, types ...AgentType) error {
	host, err := NewAgentHost(types...)
	if err != nil {
		return err
	}
	return Serve(ctx, config, host)
}

// ServeEnvironments serves environments; see Serve.
func ServeEnvironments(ctx context.Context, config Config, types ...EnvironmentType) error {
	return Serve(ctx, config, NewEnvironmentHost(types...))
}

// underMain marks the context of a program that Main runs.
type underMain struct{}

// readyLine says in one line what is on offer where.
func readyLine(host Host, address, name string) string {
	var names []string
	for _, offer := range host.Offers() {
		names = append(names, offer.Name)
	}
	return fmt.Sprintf("%s %s ready at %s as %s", host.Role(), strings.Join(names, ", "), address, line(name))
}

// Main runs a program: its context ends with SIGINT or SIGTERM, and an error is printed in one line and ends the
// program with status 1. Once the broker has welcomed the program, it prints one line that says what it serves, unless
// its Config has a Ready.
func Main(program func(ctx context.Context) error) {
	ctx := context.WithValue(context.Background(), underMain{}, true)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends a program that is busy
	err := program(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, oneLine(err))
		os.Exit(1)
	}
}
