// Does not import vite, so that the page can be built wherever vite is installed.
export default {
  base: "./",
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2023",
    // The oldest browsers with `light-dark()`, which would be replaced with longer rules for others.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    modulePreload: false,
    // The content security policy forbids `data:` URLs.
    assetsInlineLimit: 0,
    // One file of each kind, with a fixed name, so that a diff shows what changed. Caching uses ETags.
    rollupOptions: {
      output: {
        entryFileNames: "assets/app.js",
        assetFileNames: "assets/app[extname]",
        codeSplitting: false,
      },
    },
  },
};
