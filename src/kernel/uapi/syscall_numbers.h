/*
 * Numbers of system calls that the libseccomp of some supported distribution does not know by name: Debian 12's ends
 * at 454, others earlier. NUMBER(name, number on x86_64, number on aarch64), -1 where the architecture has no such call. Since Linux
 * 5.1 both architectures count alike.
 */

/* clang-format off */

NUMBER(uretprobe, 335, -1)
NUMBER(uprobe, 336, -1)
NUMBER(cachestat, 451, 451)
NUMBER(fchmodat2, 452, 452)
NUMBER(map_shadow_stack, 453, 453)
NUMBER(futex_wake, 454, 454)
NUMBER(futex_wait, 455, 455)
NUMBER(futex_requeue, 456, 456)
NUMBER(statmount, 457, 457)
NUMBER(listmount, 458, 458)
NUMBER(lsm_get_self_attr, 459, 459)
NUMBER(lsm_set_self_attr, 460, 460)
NUMBER(lsm_list_modules, 461, 461)
NUMBER(mseal, 462, 462)
NUMBER(setxattrat, 463, 463)
NUMBER(getxattrat, 464, 464)
NUMBER(listxattrat, 465, 465)
NUMBER(removexattrat, 466, 466)
NUMBER(open_tree_attr, 467, 467)
NUMBER(file_getattr, 468, 468)
NUMBER(file_setattr, 469, 469)
NUMBER(listns, 470, 470)
NUMBER(rseq_slice_yield, 471, 471)
