package dovetail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Serve connects a host to a broker and answers until the broker says bye or ctx is done, which are no errors.
func Serve(ctx context.Context, config Config, host Host) error {
	l, err := dial(ctx, config, config.hello(host.Role(), host.Offers()))
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	defer l.close()
	if config.Ready != nil {
		config.Ready(l.session.Welcome)
	}
	for ctx.Err() == nil {
		messages, err := l.receive(slice)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			if l.departed() {
				return nil
			}
			continue
		}
		if err := l.send(host.Handle(ctx, messages)); err != nil {
			return err
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

// Main runs a program: its context ends with SIGINT or SIGTERM, and an error is printed in one line and ends the
// program with status 1.
func Main(program func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := program(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, oneLine(err))
		os.Exit(1)
	}
}
