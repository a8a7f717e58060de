#ifndef CORNERSTORE_CCURL_SHIM_H
#define CORNERSTORE_CCURL_SHIM_H
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <sys/socket.h>

#if LIBCURL_VERSION_NUM < 0x075000
#error "Cornerstore needs libcurl 7.80 or later: install libcurl4-openssl-dev (Debian's name) of a newer release"
#endif

/* Swift cannot call functions with variable arguments. Each of these calls one with the type that the option takes. */
static inline CURLcode cornerstore_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode cornerstore_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}
/* For strings, which curl copies, and for objects, which must live as long as the handle. */
static inline CURLcode cornerstore_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode cornerstore_curl_set_write(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}
static inline CURLcode cornerstore_curl_set_prerequest(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLMcode cornerstore_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/* OpenSSL registers a function with atexit that frees what threads in the middle of a transfer still use: an app that
   calls exit() then crashes. OPENSSL_INIT_NO_ATEXIT (0x80000, since OpenSSL 1.1.1b) keeps it from doing so. It has to be
   the first call. A libcurl over another TLS library has no such function loaded. */
static inline CURLcode cornerstore_curl_global_init(void) {
    int (*init)(uint64_t, const void *) = (int (*)(uint64_t, const void *))dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto");
    if (init) init(0x80000, NULL);
    return curl_global_init(CURL_GLOBAL_ALL);
}
static inline CURLcode cornerstore_curl_unpause(CURL *handle) { return curl_easy_pause(handle, CURLPAUSE_CONT); }

static inline long cornerstore_curl_status(CURL *handle) {
    long status = 0;
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}
static inline void *cornerstore_curl_private(CURL *handle) {
    char *value = NULL;
    return curl_easy_getinfo(handle, CURLINFO_PRIVATE, &value) == CURLE_OK ? value : NULL;
}
static inline curl_off_t cornerstore_curl_uploaded(CURL *handle) {
    curl_off_t count = 0;
    return curl_easy_getinfo(handle, CURLINFO_SIZE_UPLOAD_T, &count) == CURLE_OK ? count : 0;
}

static inline CURLcode cornerstore_curl_allow_only_http(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}
/* Without the option, the end of a transfer waits for a name that is being looked up. */
static inline CURLcode cornerstore_curl_leave_lookups(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    return CURLE_OK;
#endif
}

/* curl's own sockets stay open in programs that the process starts. */
static inline curl_socket_t cornerstore_curl_open_socket(
    void *context, curlsocktype purpose, struct curl_sockaddr *address
) {
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
static inline CURLcode cornerstore_curl_close_on_exec(CURL *handle) {
    curl_opensocket_callback callback = cornerstore_curl_open_socket;
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}
#endif
