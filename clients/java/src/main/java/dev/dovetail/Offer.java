package dev.dovetail;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a program says it can make. */
record Offer(String name, String description, Options options, List<String> wants, int capacity, boolean instance) {
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("name", name);
        map.put("description", description);
        map.put("parameters", options.describe());
        map.put("wants", wants);
        map.put("capacity", capacity);
        map.put("instance", instance);
        return map;
    }
}
