// Turns an exception into an error text, for all functions of the shim.

#pragma once

#include <c10/util/Exception.h>

#include <cstring>

template <typename Work>
char *guarded(Work work) {
    try {
        work();
        return nullptr;
    } catch (const c10::Error &error) {
        return strdup(error.what_without_backtrace());
    } catch (const std::exception &error) {
        return strdup(error.what());
    } catch (...) {
        return strdup("an exception of an unknown kind");
    }
}
