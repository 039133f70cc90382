// No import of vite: whoever has it, wherever it is installed, can build the page.
export default {
  base: "./",
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2023",
    modulePreload: false,
    // Everything comes from files of the daemon's own; `data:` is not on the list of its policy.
    assetsInlineLimit: 0,
    // One file each, with names that stay: the daemon answers with an ETag, and a diff shows what changed.
    rollupOptions: {
      output: {
        entryFileNames: "assets/app.js",
        assetFileNames: "assets/app[extname]",
        codeSplitting: false,
      },
    },
  },
};
