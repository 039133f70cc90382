{
  description = "bethink gives coding agents a memory";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      archives = {
@ARCHIVES@
      };
      each = nixpkgs.lib.genAttrs (builtins.attrNames archives);
    in
    {
      packages = each (system: rec {
        default = bethink;
        bethink = nixpkgs.legacyPackages.${system}.stdenvNoCC.mkDerivation {
          pname = "bethink";
          version = "@VERSION@";
          src = builtins.fetchurl archives.${system};
          nativeBuildInputs = [ nixpkgs.legacyPackages.${system}.installShellFiles ];
          # The programs are static, so nothing is patched.
          dontFixup = true;
          installPhase = ''
            install -Dm755 -t $out/bin bin/bethink bin/bethinkd
            installManPage share/man/man1/*
            installShellCompletion share/completions/bethink.{bash,zsh,fish}
          '';
          meta.mainProgram = "bethink";
        };
      });
    };
}
