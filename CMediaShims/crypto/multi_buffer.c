#define _GNU_SOURCE
#include "internal.h"

#if PARLOR_HAS_MULTI_BUFFER

#include <dlfcn.h>
#include <pthread.h>

// Loaded, not linked: where the library is missing, OpenSSL does the work. The manager's struct is read directly, so only
// the version whose header we were compiled with will do.

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static IMB_MGR *(*alloc_manager)(uint64_t);
static void (*init_manager)(IMB_MGR *, IMB_ARCH *);
static void (*init_narrow_manager)(IMB_MGR *);
static void (*free_manager)(IMB_MGR *);
static IMB_MGR *shared;

IMB_MGR *multi_buffer_create(void) {
    if (alloc_manager == NULL) return NULL;
    IMB_MGR *manager = alloc_manager(0);
    if (manager == NULL) return NULL;
    IMB_ARCH arch = IMB_ARCH_NONE;
    init_manager(manager, &arch);
    bool passed = (manager->features & IMB_FEATURE_SELF_TEST) == 0
                  || (manager->features & IMB_FEATURE_SELF_TEST_PASS) != 0;
    // Without AES-NI the library emulates it, slower than OpenSSL.
    bool usable = manager->imb_errno == 0 && arch != IMB_ARCH_NONE && arch != IMB_ARCH_NOAESNI && passed
                  && (manager->features & IMB_FEATURE_AESNI) != 0;
    if (usable) return manager;
    free_manager(manager);
    return NULL;
}

IMB_MGR *multi_buffer_create_narrow(void) {
    if (shared == NULL || (shared->features & IMB_FEATURE_SHANI) == 0) return NULL;
    IMB_MGR *manager = alloc_manager(0);
    if (manager == NULL) return NULL;
    init_narrow_manager(manager);
    if (manager->imb_errno == 0 && (manager->features & IMB_FEATURE_SHANI) != 0) return manager;
    free_manager(manager);
    return NULL;
}

void multi_buffer_free(IMB_MGR *manager) {
    if (manager != NULL) free_manager(manager);
}

static void load(void) {
    // Never closed: function pointers into it live as long as the process.
    void *library = dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    unsigned (*version)(void) = (unsigned (*)(void))dlsym(library, "imb_get_version");
    if (version == NULL || version() >> 8 != IMB_VERSION_NUM >> 8) return;
    void *alloc = dlsym(library, "alloc_mb_mgr");
    void *init = dlsym(library, "init_mb_mgr_auto");
    void *narrow = dlsym(library, "init_mb_mgr_sse");
    void *release = dlsym(library, "free_mb_mgr");
    if (alloc == NULL || init == NULL || narrow == NULL || release == NULL) return;
    alloc_manager = (IMB_MGR * (*)(uint64_t)) alloc;
    init_manager = (void (*)(IMB_MGR *, IMB_ARCH *))init;
    init_narrow_manager = (void (*)(IMB_MGR *))narrow;
    free_manager = (void (*)(IMB_MGR *))release;
    shared = multi_buffer_create();
}

IMB_MGR *multi_buffer_shared(void) {
    pthread_once(&loaded, load);
    return shared;
}

bool parlor_srtp_multi_buffer_available(void) { return multi_buffer_shared() != NULL; }

#else

bool parlor_srtp_multi_buffer_available(void) { return false; }

#endif

const char *parlor_srtp_backend_name(int32_t backend) {
    switch (backend) {
    case PARLOR_SRTP_MULTI_BUFFER:
#if PARLOR_HAS_MULTI_BUFFER
        if (multi_buffer_shared() != NULL) {
            switch (shared->used_arch) {
            case IMB_ARCH_AVX512: return "libipsec-mb (AVX-512)";
            case IMB_ARCH_AVX2: return "libipsec-mb (AVX2)";
            case IMB_ARCH_AVX: return "libipsec-mb (AVX)";
            default: return "libipsec-mb (SSE)";
            }
        }
#endif
        return "libipsec-mb";
    case PARLOR_SRTP_EVP: return "OpenSSL EVP";
    case PARLOR_SRTP_LIBRARY: return "libsrtp2";
    default: return "automatic";
    }
}
