package shown

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The types are those of k8s.io/api as far as the manifests use them; a field that is not
// here is refused, so each new one is a decision.

type meta struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels"`
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   meta   `yaml:"metadata"`
	Spec       struct {
		Replicas int `yaml:"replicas"`
		Strategy struct {
			Type string `yaml:"type"`
		} `yaml:"strategy"`
		Selector labelSelector `yaml:"selector"`
		Template struct {
			Metadata meta `yaml:"metadata"`
			Spec     pod  `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type pod struct {
	AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
	EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
	TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot   bool `yaml:"runAsNonRoot"`
		RunAsUser      int  `yaml:"runAsUser"`
		RunAsGroup     int  `yaml:"runAsGroup"`
		FSGroup        int  `yaml:"fsGroup"`
		SeccompProfile struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container `yaml:"containers"`
	Volumes    []volume    `yaml:"volumes"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Env   []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct {
			Drop []string `yaml:"drop"`
		} `yaml:"capabilities"`
	} `yaml:"securityContext"`
	Resources struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	StartupProbe   probe `yaml:"startupProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	VolumeMounts   []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path   string `yaml:"path"`
		Port   string `yaml:"port"`
		Scheme string `yaml:"scheme"`
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type volume struct {
	Name                  string `yaml:"name"`
	PersistentVolumeClaim *struct {
		ClaimName string `yaml:"claimName"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"persistentVolumeClaim"`
	EmptyDir *struct {
		SizeLimit string `yaml:"sizeLimit"`
	} `yaml:"emptyDir"`
	Secret *struct {
		SecretName  string `yaml:"secretName"`
		DefaultMode int    `yaml:"defaultMode"`
	} `yaml:"secret"`
}

type service struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   meta   `yaml:"metadata"`
	Spec       struct {
		Selector map[string]string `yaml:"selector"`
		Ports    []struct {
			Name       string `yaml:"name"`
			Port       int    `yaml:"port"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
	} `yaml:"spec"`
}

type networkPolicy struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   meta   `yaml:"metadata"`
	Spec       struct {
		PodSelector labelSelector `yaml:"podSelector"`
		PolicyTypes []string      `yaml:"policyTypes"`
		Ingress     []struct {
			From []struct {
				PodSelector labelSelector `yaml:"podSelector"`
			} `yaml:"from"`
			Ports []struct {
				Port string `yaml:"port"`
			} `yaml:"ports"`
		} `yaml:"ingress"`
		Egress []struct{} `yaml:"egress"`
	} `yaml:"spec"`
}

// manifest is what a file of deploy/kubernetes holds: one of each, and nothing else.
type manifest struct {
	deployment deployment
	service    service
	network    networkPolicy
}

func manifestOf(text string) (m manifest, err error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := errors.Join(d.Decode(&m.deployment), d.Decode(&m.service), d.Decode(&m.network)); err != nil {
		return m, err
	}
	if err := d.Decode(&struct{}{}); err != io.EOF {
		return m, errors.New("there is a fourth object, or none of the kinds that are known")
	}
	return m, nil
}

// demands are sentences about every manifest, and what holds them.
var demands = []struct {
	sentence string
	holds    func(manifest, pod, container) bool
}{
	{"the objects are of the kinds they are read as", func(m manifest, _ pod, _ container) bool {
		kinds := []string{m.deployment.APIVersion, m.deployment.Kind, m.service.APIVersion, m.service.Kind, m.network.APIVersion, m.network.Kind}
		return slices.Equal(kinds, []string{"apps/v1", "Deployment", "v1", "Service", "networking.k8s.io/v1", "NetworkPolicy"})
	}},
	{"no container may run as root", func(_ manifest, p pod, _ container) bool {
		return p.SecurityContext.RunAsNonRoot && p.SecurityContext.RunAsUser > 0 && p.SecurityContext.RunAsGroup > 0
	}},
	{"no container may gain privileges", func(_ manifest, _ pod, c container) bool {
		return no(c.SecurityContext.AllowPrivilegeEscalation)
	}},
	{"every capability is dropped", func(_ manifest, _ pod, c container) bool {
		return slices.Equal(c.SecurityContext.Capabilities.Drop, []string{"ALL"})
	}},
	{"the root file system is read only", func(_ manifest, _ pod, c container) bool { return c.SecurityContext.ReadOnlyRootFilesystem }},
	{"system calls are filtered by the runtime", func(_ manifest, p pod, _ container) bool {
		return p.SecurityContext.SeccompProfile.Type == "RuntimeDefault"
	}},
	{"no pod has a token for the cluster", func(_ manifest, p pod, _ container) bool { return no(p.AutomountServiceAccountToken) }},
	{"no pod is told of other services", func(_ manifest, p pod, _ container) bool { return no(p.EnableServiceLinks) }},
	{"a pod has one container", func(_ manifest, p pod, _ container) bool { return len(p.Containers) == 1 }},
	{"memory and processor are limited and asked for", func(_ manifest, _ pod, c container) bool {
		r := c.Resources
		return r.Limits["memory"] != "" && r.Limits["cpu"] != "" && r.Requests["memory"] != "" && r.Requests["cpu"] != ""
	}},
	{"an image has a version", func(_ manifest, _ pod, c container) bool {
		_, tag, ok := strings.Cut(c.Image[strings.LastIndexByte(c.Image, '/')+1:], ":")
		return ok && tag != "" && tag != "latest"
	}},
	{"it is asked whether it lives", func(_ manifest, _ pod, c container) bool {
		return healthy(c.StartupProbe) && healthy(c.ReadinessProbe) && healthy(c.LivenessProbe)
	}},
	{"every mount has its volume, and every volume its mount", func(_ manifest, p pod, c container) bool {
		var mounts, volumes []string
		for _, m := range c.VolumeMounts {
			mounts = append(mounts, m.Name)
		}
		for _, v := range p.Volumes {
			volumes = append(volumes, v.Name)
		}
		return slices.Equal(mounts, volumes)
	}},
	{"token and certificate are files that others cannot read", func(_ manifest, p pod, c container) bool {
		secret := 0
		for i, v := range p.Volumes {
			if v.Secret != nil && v.Secret.DefaultMode&0o027 == 0 && c.VolumeMounts[i].ReadOnly {
				secret++
			}
		}
		return secret == 2 && has(c.Args, "--token-file=/token/token", "--tls-cert=/tls/tls.crt", "--tls-key=/tls/tls.key")
	}},
	{"the project of a server that reads is mounted read only", func(m manifest, p pod, c container) bool {
		return m.deployment.Metadata.Name != "file-read" || c.VolumeMounts[0].ReadOnly && p.Volumes[0].PersistentVolumeClaim.ReadOnly
	}},
	{"what is kept in memory or on the node has a limit", func(_ manifest, p pod, _ container) bool {
		return !slices.ContainsFunc(p.Volumes, func(v volume) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit == "" })
	}},
	{"a server that keeps something has one replica, and the old one ends first", func(m manifest, _ pod, c container) bool {
		stateless := len(c.VolumeMounts) == 3 // project, token, certificate
		return stateless || m.deployment.Spec.Replicas == 1 && m.deployment.Spec.Strategy.Type == "Recreate"
	}},
	{"selectors choose the pod", func(m manifest, _ pod, _ container) bool {
		labels := m.deployment.Spec.Template.Metadata.Labels
		return len(labels) > 0 && maps.Equal(labels, m.deployment.Spec.Selector.MatchLabels) &&
			maps.Equal(labels, m.service.Spec.Selector) && maps.Equal(labels, m.network.Spec.PodSelector.MatchLabels)
	}},
	{"everything lies in the namespace mcp", func(m manifest, _ pod, _ container) bool {
		return m.deployment.Metadata.Namespace == "mcp" && m.service.Metadata.Namespace == "mcp" && m.network.Metadata.Namespace == "mcp"
	}},
	{"only labelled clients reach it", func(m manifest, _ pod, _ container) bool {
		in := m.network.Spec.Ingress
		return slices.Contains(m.network.Spec.PolicyTypes, "Ingress") && len(in) == 1 && len(in[0].From) == 1 && len(in[0].Ports) == 1 &&
			in[0].From[0].PodSelector.MatchLabels["mcp-client"] == "true"
	}},
	{"it reaches nobody", func(m manifest, _ pod, _ container) bool {
		return slices.Contains(m.network.Spec.PolicyTypes, "Egress") && m.network.Spec.Egress != nil && len(m.network.Spec.Egress) == 0
	}},
	{"ports are named alike", func(m manifest, _ pod, c container) bool {
		return len(c.Ports) == 1 && c.Ports[0].Name == "https" && m.service.Spec.Ports[0].TargetPort == "https" &&
			m.network.Spec.Ingress[0].Ports[0].Port == "https"
	}},
}

// has reports whether all words are there.
func has(args []string, words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(args, w) })
}

func no(b *bool) bool { return b != nil && !*b }

func healthy(p probe) bool {
	return p.HTTPGet.Path == "/healthz" && p.HTTPGet.Port == "https" && p.HTTPGet.Scheme == "HTTPS" && p.PeriodSeconds > 0
}

// broken are the sentences that do not hold for a manifest.
func broken(text string) ([]string, error) {
	m, err := manifestOf(text)
	if err != nil {
		return nil, err
	}
	p := m.deployment.Spec.Template.Spec
	if len(p.Containers) == 0 || len(p.Volumes) == 0 || len(p.Containers[0].VolumeMounts) != len(p.Volumes) {
		return []string{"every mount has its volume, and every volume its mount"}, nil
	}
	var not []string
	for _, d := range demands {
		if !d.holds(m, p, p.Containers[0]) {
			not = append(not, d.sentence)
		}
	}
	return not, nil
}

func TestManifestsGrantNoMoreThanTheyHaveTo(t *testing.T) {
	for _, s := range servers {
		not, err := broken(read(t, "../deploy/kubernetes", s.name+".yaml"))
		if err != nil || len(not) > 0 {
			t.Errorf("%s: %v, and it does not hold that %s", s.name, err, strings.Join(not, "; "))
		}
	}
}

func TestAManifestThatGrantsMoreIsFound(t *testing.T) {
	whole := read(t, "../deploy/kubernetes/file-read.yaml")
	for _, c := range []struct{ from, to, says string }{
		{"runAsNonRoot: true", "runAsNonRoot: false", "no container may run as root"},
		{"runAsUser: 65532", "runAsUser: 0", "no container may run as root"},
		{"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "no container may gain privileges"},
		{"drop: [ALL]", "drop: [NET_RAW]", "every capability is dropped"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "the root file system is read only"},
		{"RuntimeDefault", "Unconfined", "system calls are filtered by the runtime"},
		{"automountServiceAccountToken: false", "", "no pod has a token for the cluster"},
		{"limits: {cpu: \"1\", memory: 256Mi}", "", "memory and processor are limited and asked for"},
		{"file-read:1.0.0", "file-read:latest", "an image has a version"},
		{"defaultMode: 0440", "defaultMode: 0444", "token and certificate are files that others cannot read"},
		{"mountPath: /project, readOnly: true", "mountPath: /project", "the project of a server that reads is mounted read only"},
		{"claimName: project, readOnly: true", "claimName: project", "the project of a server that reads is mounted read only"},
		{"[Ingress, Egress]", "[Ingress]", "it reaches nobody"},
		{"egress: []", "egress: [{}]", "it reaches nobody"},
		{"egress: []", "", "it reaches nobody"},
		{"matchLabels: {mcp-client: \"true\"}", "matchLabels: {}", "only labelled clients reach it"},
	} {
		text := strings.Replace(whole, c.from, c.to, 1)
		not, err := broken(text)
		if text == whole || err != nil || !slices.Contains(not, c.says) {
			t.Errorf("%q to %q: %v, found %q", c.from, c.to, err, not)
		}
	}
	for _, more := range []string{"      hostNetwork: true\n", "      hostPID: true\n", "      shareProcessNamespace: true\n"} {
		text := strings.Replace(whole, "      containers:\n", more+"      containers:\n", 1)
		if _, err := broken(text); err == nil {
			t.Errorf("%q is taken", more)
		}
	}
}

func TestManifestsStartTheServersTheyAreFor(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			m, err := manifestOf(read(t, "../deploy/kubernetes", s.name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			w := newFixture(t, "state/")
			w.secrets(t)
			var args []string
			for _, word := range m.deployment.Spec.Template.Spec.Containers[0].Args {
				args = append(args, strings.NewReplacer("=/", "="+w.home+"/", "0.0.0.0:8443", "127.0.0.1:0").Replace(word))
			}
			w.answers(t, s.name, args, "https://"+s.name+".mcp.svc")
		})
	}
}
