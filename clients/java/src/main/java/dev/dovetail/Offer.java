package dev.dovetail;

import java.util.List;
import java.util.Map;

/** What a program says it can make. */
record Offer(String name, String description, Options options, List<String> wants, int capacity, boolean instance) {
    Map<String, Object> toMap() {
        return Fields.pairs("name", name, "description", description, "parameters", options.describe(),
                "wants", wants, "capacity", capacity, "instance", instance);
    }
}
