/// The files of the page and of the JavaScript client, as they are in the source tree, inside the program.
#pragma once

#include <stddef.h>

typedef struct {
    /// Path below the server's root, without a slash at its beginning: "page/app.js".
    const char *path;
    const unsigned char *bytes;
    size_t length;
} cpages_file;

/// All of them; the memory lives as long as the program.
const cpages_file *cpages_files(size_t *count);
