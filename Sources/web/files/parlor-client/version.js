/** Major, minor and patch number; the server gets it at a join. */
export const version = '0.4.0';
