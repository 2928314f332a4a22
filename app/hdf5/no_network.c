/* What the static HDF5 library wants of libcurl and libcrypto, to read files from S3. This program
   opens one local file and no other, so every call fails. */
#include <stddef.h>

int curl_global_init(long flags) { return (void)flags, 1; }
void curl_global_cleanup(void) {}
void* curl_easy_init(void) { return NULL; }
int curl_easy_setopt(void* handle, int option, ...) { return (void)handle, (void)option, 1; }
int curl_easy_perform(void* handle) { return (void)handle, 1; }
void curl_easy_cleanup(void* handle) { (void)handle; }
void* curl_slist_append(void* list, const char* text) { return (void)list, (void)text, NULL; }
void curl_slist_free_all(void* list) { (void)list; }

const void* EVP_sha256(void) { return NULL; }
unsigned char* SHA256(const unsigned char* text, size_t size, unsigned char* out) {
  return (void)text, (void)size, (void)out, NULL;
}
unsigned char* HMAC(const void* digest, const void* key, int key_size, const unsigned char* text,
                    size_t size, unsigned char* out, unsigned int* out_size) {
  return (void)digest, (void)key, (void)key_size, (void)text, (void)size, (void)out, (void)out_size,
         NULL;
}
