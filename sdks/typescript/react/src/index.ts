/** React hooks over the client. Nothing is exported yet. */

export {};
